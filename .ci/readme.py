"""Write README.md and its picture from nbs/index.ipynb: staged by nbdev, written by nbconvert; Quarto is not needed."""
import re
import sys
from pathlib import Path

import yaml
from nbconvert import MarkdownExporter
from nbdev.config import get_config
from traitlets.config import Config

sys.path.insert(0, 'docs')
from stage import stage  # noqa: E402

def example(widget, site):
    "The sentence that the translator of the site shows, and where to try it: the translator itself needs the site."
    shown = re.search(r'<p>(.*?)</p>', widget, re.S)
    words = re.sub(r'</?i>', '*', re.sub(r'</?b>', '**', shown[1])).replace('\n', ' ') if shown else ''
    return f'{words} ([Try it in your browser]({site}).)\n'

def readme():
    "Text of README.md, and its pictures by path"
    cfg = get_config()
    staged = stage(0) / cfg.readme_nb # stages every notebook, so a page that cannot be built fails here
    pictures = Config(ExtractOutputPreprocessor=dict(output_filename_template='nbs/images/index_{cell_index}_{index}{extension}'))
    text, extra = MarkdownExporter(config=pictures).from_filename(str(staged))
    text = re.sub(r'```(?:python)?\n#\| (?:echo: false|code-fold: true)\n.*?```\n', '', text, flags=re.S)
    text = re.sub(r'^```\n(?=\S)(.*?)^```$', r'```python\n\1```', text, flags=re.S | re.M)
    site = cfg.doc_host + cfg.doc_baseurl
    text = re.sub(r'<link rel="stylesheet" href="live/(.*?)</script>\s*\*.*?\*\n', lambda m: example(m[1], site), text, flags=re.S)
    front = re.search(r'\A\s*---\n(.*?)\n---\n', text, flags=re.S)
    head = yaml.safe_load(front[1])
    text = f"# {head['title']}\n\n{head['description']}\n" + text[front.end():]
    text = re.sub(r'\]\((\w+\.ipynb)', r'](nbs/\1', text)
    return re.sub(r'\n\s*\n(\s*\n)+', '\n\n', text).strip() + '\n', extra['outputs']

text, pictures = readme()
Path('README.md').write_text(text, encoding='utf-8')
for path, data in pictures.items(): Path(path).write_bytes(data)
