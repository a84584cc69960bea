"""Everything comes from settings.ini: one `<name>_requirements` line there is one extra here."""
from configparser import ConfigParser

from setuptools import find_packages, setup

parser = ConfigParser(delimiters=['='])
parser.read_file(open('settings.ini', encoding='utf-8'))
cfg = parser['DEFAULT']
suffix = '_requirements'

setup(
    name=cfg['lib_name'], version=cfg['version'], description=cfg['description'], keywords=cfg['keywords'],
    author=cfg['author'], author_email=cfg['author_email'], url=cfg['git_url'], license='Apache-2.0 AND CC-BY-2.0', license_files=['LICENSE', 'LICENSE-DATA'],
    long_description=open('README.md', encoding='utf-8').read(), long_description_content_type='text/markdown',
    classifiers=['Intended Audience :: Education', 'Intended Audience :: Developers', 'Programming Language :: Python :: 3',
                 *(f'Programming Language :: Python :: 3.{v}' for v in (11, 12, 13, 14))],
    packages=find_packages(include=[cfg['lib_name'], f"{cfg['lib_name']}.*"]),
    package_data={cfg['lib_name']: ['py.typed', '*_model/*', 'live_page/*.*', 'data/*.xz', 'data/*.tsv', 'data/*.txt', 'lab/*.toml']}, python_requires=f">={cfg['min_python']}",
    install_requires=cfg['requirements'].split(),
    extras_require={key.removesuffix(suffix): value.split() for key, value in cfg.items() if key.endswith(suffix)},
    entry_points={'console_scripts': cfg['console_scripts'].split(), 'nbdev': [f"{cfg['lib_name']}={cfg['lib_name']}._modidx:d"]},
)
