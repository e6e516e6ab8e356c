"""
Where output goes, and the proof that it is whole.

`target` gives writers their streams, hashes what they write and puts it in place; `manifest` lists it and seals the list;
`verify` compares a folder or file with its manifest, and returns a `report`. Behind them: `lines` is the manifest as a format,
`stream` a file while it is written, `paths` judges names, `disk` asks the operating system, `unfinished` and `carried` let a run
go on where another stopped.
"""
