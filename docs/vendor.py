"The browser libraries of the offline site, gathered from pip and npm packages into `_vendor`."
import shutil
from pathlib import Path

import vl_convert

vendor, katex = Path('_vendor'), Path('docs/node_modules/katex/dist')
shutil.rmtree(vendor, ignore_errors=True)
(vendor/'katex'/'fonts').mkdir(parents=True)
(vendor/'vega.js').write_text('(() => {' + vl_convert.javascript_bundle() + '\n;window.vegaEmbed ??= vegaEmbed})();', encoding='utf-8')
for name in ('katex.min.js', 'katex.min.css'): shutil.copy(katex/name, vendor/'katex')
for font in (katex/'fonts').glob('*.woff2'): shutil.copy(font, vendor/'katex'/'fonts')
