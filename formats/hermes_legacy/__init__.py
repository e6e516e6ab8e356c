"""The files Hermes Agent kept its sessions in before its database, and keeps beside it. Facts: docs/formats/hermes-legacy.md."""
