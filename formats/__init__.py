"""The formats: the model, the registry, and one package for each format with its reader and its writer."""
