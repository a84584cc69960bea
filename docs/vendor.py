"The browser libraries of the offline site, gathered from pip and npm packages into `_vendor`."
import shutil
from pathlib import Path

import vl_convert

vendor = Path('_vendor')
vendor.mkdir(exist_ok=True)
(vendor/'vega.js').write_text('(() => {' + vl_convert.javascript_bundle() + '\n;window.vegaEmbed ??= vegaEmbed})();', encoding='utf-8')
shutil.copy('docs/node_modules/mathjax/es5/tex-svg-full.js', vendor)
