"""Write README.md (or the file named) from nbs/index.ipynb: staged by nbdev, written by nbconvert; Quarto is not needed."""
import re
import sys
from pathlib import Path

from nbconvert import MarkdownExporter
from nbdev.config import get_config
from nbdev.serve import proc_nbs

def readme():
    "Text of README.md"
    cfg = get_config()
    staged = proc_nbs(force=True, n_workers=0, file_glob='') / cfg.readme_nb
    text, _ = MarkdownExporter().from_filename(str(staged))
    text = re.sub(r'\A\s*---\n.*?\n---\n', '', text, flags=re.S)  # Quarto's front matter
    return re.sub(r'\n{3,}', '\n\n', text).strip() + '\n'

if __name__ == '__main__': Path(*sys.argv[1:] or ['README.md']).write_text(readme(), encoding='utf-8')
