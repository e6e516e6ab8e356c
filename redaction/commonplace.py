"""Words that are nobody's: accounts of machines and services, words that are names too, and the ends of domain names."""

from __future__ import annotations

__all__ = ["ACCOUNTS", "TOP_DOMAINS", "WORDS", "words"]


def words(text: str) -> frozenset[str]:
    """Return the words of a text."""
    return frozenset(text.split())


ACCOUNTS = words(
    """
    root ubuntu debian fedora centos alpine arch kali opc core pi vagrant docker podman container nonroot nobody guest admin
    administrator user users user1 username yourname your_name yourusername your-username you me myuser name someone somebody
    person example test tester testuser demo sample foo bar baz alice-example runner runneradmin runner-user circleci travis
    jenkins buildbot builder build ci deploy deployer gitlab-runner github gitlab gitpod coder codespace codespaces vscode code
    jovyan linuxbrew homebrew node app appuser www www-data web http nginx apache mysql postgres postgresql redis mongodb
    elasticsearch kafka hadoop spark airflow service services daemon bin sys sync mail git svn ftp backup oracle ec2-user
    azureuser gcp cloud shared public default all system local localhost machine host server client dev develop developer
    devuser staging prod production work worker workspace workspaces project projects repo repos src source data agent agents
    sandbox model claude codex hermes assistant bot robot dashboard settings index page pages profile feed login logout about
    news search help home main menu list details view views component components assets static images img css js api docs blog
    products product contact account overview inbox messages
    """
)
"""Names that stand for a home's owner and are no person's; routes of web sites too, which look like homes."""

WORDS = ACCOUNTS | words(
    """
    mark will grace hope rose jack bill frank chase hunter miles dean grant drew gene cliff dale glen heath brook summer april
    august june may dawn faith joy autumn crystal pearl amber ruby jade ivy iris lily daisy olive violet hazel basil sage rusty
    sandy stormy sunny misty penny buck chip chuck clay colt dash duke earl flint ford fox gale guy hall hank harry heather
    holly jasmine jean jenkins jerry josh julia justin lance lane lynx mason maria max maven melody miller mint norm parker
    pascal perl python swift rust scala patch pierce piper porter price ralph ray reed rich rick rob robin rocky roman rowan
    royal ruby sally scott serif shell sky sonny star sterling stone tab taylor terry tony tracy trace trent troy vance victor
    wade ward warren wave west wolf wood woody young able about above access action active actual added adding after again alias
    allow alpha also always amount angel anger apple apply april area array arrow asset async atlas audio avatar await award
    aware back base batch beta better between binary bind black block blue board body book boot both bound brand brave break
    brian brick brief bright bring broad brown brush buffer bundle button byte cache call camel card care carry case cash cast
    catch cause cell center chain change char chart check child clean clear click clone close cluster coach coffee color column
    come common compile config connect const content context copy cost count course cover crash create crew cross crud current
    custom cycle dark date debug deep default define delete delta depth desc desk diff digit direct disk docs done door double
    down draft draw drive driver drop dummy each early earth easy echo edge edit effect eight elite else email empty emit enable
    end engine enter entry enum equal error eval even event every exact exec exit expert export extra fact fail fall false fast
    fault field fifth file fill filter final find fine fire first five fixed flag flat float flow flux focus folder font force
    fork form format forward frame free fresh from front full func game gate gather ghost gift give glass global gold good grand
    graph gray great green grid group grow guard guide hand handle happy hard hash have head header heart heat heavy hello here
    hero high hold hook horse hour house idea idle image import inner input inside item iron issue java join jump just keep
    kernel key kind king know label large last late latest launch layer layout lazy lead leaf learn left legacy length less
    level library life light like limit line link linux lion list little live load loader lock logic login long look loop love
    lower lucky lunar machine magic mail make manual many mark master match matrix mean media memory merge message meta method
    metric micro middle mind mini minor mode module moment money monitor month moon more most mount mouse move much multi music
    name native near need nest never next nice night nine noise none normal north note null number object ocean offset once only
    open option orange order other outer output over owner pack page paint pair panel paper param parent parse part party pass
    past path pause peace phase phone photo pick piece pilot pipe pixel place plain plan planet plant play player plugin point
    pool port post power press prime print prior proxy pull pulse pure push query quest queue quick quiet race radio rain random
    range rank rapid rate raven read ready real red ref render repeat reply report reset rest result return right ring river
    road robot rocket role room route router rule safe sail same save scale scan scene schema scope score script second secret
    seed self send serial server session setup seven shadow shape share sharp shift ship shop short show side sign silent silver
    simple single site size skip slot slow small smart snap snow soft solid some song sort sound south space spark speed spin
    split spring square stack staff stage stand start state static status step stop storage store storm story stream street
    string strong style such super support switch symbol syntax table tail take talk target task team tech temp term test text
    than that them theme then there they thing think third this thread three thumb ticket tiger time timer title today token
    tool topic total touch tower track trade train tree trial trick trigger true trust truth turbo turn type under union unit
    update upper used user utils valid value vector version very video view virtual vision visit voice wait walk wall want warm
    warning watch water week well were what wheel when where which while white wide wild wind window winter with word work world
    would wrap write yellow year your zero zone laptop desktop macbook macbookpro imac thinkpad workstation pc mini tower nas
    router gateway
    """
)
"""Words that are not replaced where they stand alone, though somebody is called so."""

TOP_DOMAINS = words(
    """
    com net org edu gov mil int biz info name pro xyz top icu dev app bio art one aero asia coop jobs mobi museum tel travel cat
    eu academy agency ai blog cloud club codes company consulting design digital email engineering expert group health home house
    institute international io life live ltd media network news online page partners plus press services shop site social software
    solutions space store studio systems team tech technology today tools university ventures vip wiki work works world zone
    berlin london paris tokyo amsterdam
    ac ad ae af ag al am ao ar as at au aw ax az ba bb bd be bf bg bh bi bj bm bn bo br bs bt bw by bz ca cc cd cf cg ch ci ck
    cl cm cn co cr cu cv cw cx cy cz de dj dk dm do dz ec ee eg er es et fi fj fk fm fo fr ga gd ge gf gg gh gi gl gm gn gp gq
    gr gt gu gw gy hk hm hn hr ht hu id ie il im in iq ir is it je jm jo jp ke kg kh ki km kn kp kr kw ky kz la lb lc li lk lr
    ls lt lu lv ly ma mc md me mg mh mk ml mm mn mo mp mq mr ms mt mu mv mw mx my mz na nc ne nf ng ni nl no np nr nu nz om pa
    pe pf pg ph pk pl pm pn pr ps pt pw qa re ro rs ru rw sa sb sc sd se sg si sk sl sm sn so sr ss st su sv sx sy sz tc td tf
    tg th tj tk tl tm tn to tr tt tv tw tz ua ug uk us uy uz va vc ve vg vi vn vu wf ws ye yt za zm zw
    """
)
"""Ends of domain names that mail goes to; file endings such as png and js are none."""
