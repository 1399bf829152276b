"""A run in other tools' formats. Each module has one function that turns a Dossier into a document.

junit      JUnit XML, for merge pipelines
sarif      SARIF 2.1.0, for code scanning
markdown   GitHub-flavoured Markdown, for a step summary
sheet      CSV, a line per trial
eee        Every Eval Ever, one document per agent
"""
