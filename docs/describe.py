"What a chart shows, in words, for readers who do not see it: made from its specification and data."
import csv
import io
import json
import re

KINDS = dict(line='Line chart', bar='Bar chart', rect='Heat map', point='Scatter chart', circle='Scatter chart', area='Area chart', tick='Strip chart')
LONGEST = 600 # characters
SERIES = 8 # lines or bars that are named one by one

def text(title): # of a title, which may be lines or have a text inside
    if isinstance(title, dict): title = title.get('text')
    return ' '.join(title) if isinstance(title, list) else title or ''

def number(value): return f'{value:.3g}' if abs(value) < 1e4 else f'{value:,.0f}'

def rows(spec, root): # the data of a chart or of the chart around it
    data = spec.get('data') or root.get('data')
    if not isinstance(data, dict): return []
    table = data.get('values', root.get('datasets', {}).get(data.get('name'), []))
    return list(csv.DictReader(io.StringIO(table))) if isinstance(table, str) else table

def numbers(table, field): # of a column, as far as its cells are numbers
    values = []
    for row in table:
        try: values.append(float(row[field]))
        except (KeyError, TypeError, ValueError): continue
    return values

def names(channel): # the labels of a heat map's axis
    expression = (channel.get('axis') or {}).get('labelExpr', '')
    listed = re.match(r'(\[.*\])\[datum\.value\]$', expression)
    try: return json.loads(listed[1]) if listed else None
    except ValueError: return None

def heat_map(encoding, table): # what both axes are, and the cell with the largest value
    x, y = encoding['x'], encoding['y']
    about = f'{text(y.get("title")) or "rows"} by {text(x.get("title")) or "columns"}'
    cells = [(float(row['value']), row) for row in table if re.fullmatch(r'-?[\d.]+(e-?\d+)?', str(row.get('value')))]
    if not cells: return about
    value, row = max(cells, key=lambda cell: cell[0])
    def label(channel):
        at, labels = str(row.get(channel.get('field'))), names(channel)
        return labels[int(at)] if labels and at.isdigit() and int(at) < len(labels) else at
    return f'{about}; the largest value, {number(value)}, is at {label(y)}, {label(x)}'

def series(encoding, table): # each line from its first to its last value, each bar with its value
    x, y = encoding.get('x', {}), encoding.get('y', {})
    if 'field' not in x or 'field' not in y: return ''
    upright = y.get('type') == 'quantitative'
    value, place = (y, x) if upright else (x, y)
    about = f'{text(value.get("title")) or value["field"]} by {text(place.get("title")) or place["field"]}'
    color = encoding.get('color', {}).get('field')
    groups = {}
    for row in table: groups.setdefault(row.get(color, '') if color else '', []).append(row)
    parts = []
    if place.get('type') in ('nominal', 'ordinal') and len(table) <= SERIES:
        values = numbers(table, value['field'])
        if len(values) == len(table):
            parts = [f'{row.get(place["field"])}{", " + str(row[color]) if color and row[color] != row.get(place["field"]) else ""} {number(v)}' for row, v in zip(table, values)]
    elif len(groups) <= SERIES:
        for name, members in groups.items():
            if values := numbers(members, value['field']): parts.append(f'{name + " " if name else ""}from {number(values[0])} to {number(values[-1])}')
    if not parts and (values := numbers(table, value['field'])): parts = [f'{len(groups)} series, values from {number(min(values))} to {number(max(values))}']
    return about + (': ' if parts else '') + ', '.join(parts)

def one(spec, root): # a chart without panels
    mark, encoding = spec.get('mark'), spec.get('encoding', {})
    kind = mark.get('type') if isinstance(mark, dict) else mark
    table = rows(spec, root)
    body = heat_map(encoding, table) if kind == 'rect' and {'x', 'y'} <= set(encoding) else series(encoding, table)
    return KINDS.get(kind, 'Chart'), text(spec.get('title')), body

def panels(spec): return next((spec[key] for key in ('hconcat', 'vconcat', 'concat') if key in spec), [])

def described(spec, root): # kind, title and content; a text of its own replaces what the data say
    kind, title, body = from_data(spec, root)
    return kind, title, own_words(spec) or body

def own_words(spec): return spec.get('description') or next((layer['description'] for layer in spec.get('layer', []) if layer.get('description')), '')

def from_data(spec, root):
    if spec.get('layer'):
        layers = [layer | {'data': layer.get('data', spec.get('data')), 'encoding': spec.get('encoding', {}) | layer.get('encoding', {})} for layer in spec['layer']]
        kind, title, body = max((one(layer, root) for layer in layers), key=lambda layer: len(layer[2]))
        return kind, text(spec.get('title')) or title, body
    if 'spec' in spec: # one panel for each value of a column
        kind, title, body = described(spec['spec'] | {'data': spec['spec'].get('data', spec.get('data'))}, root)
        return f'{kind} in panels', text(spec.get('title')) or title, body
    if not panels(spec): return one(spec, root)
    inner = [described(part, root) for part in panels(spec)]
    bodies = '. '.join(f'{title or kind}: {body.rstrip(".")}' if body else title or kind for kind, title, body in inner)
    kinds = {kind for kind, _, _ in inner}
    return f'{len(inner)} panels, {kinds.pop().lower() if len(kinds) == 1 else "charts"}', text(spec.get('title')), bodies

def describe(spec):
    "A chart's own description, or its kind, title and what the data say."
    if own_words(spec): return own_words(spec)
    kind, title, body = described(spec, spec)
    words = f'{kind}{": " + title if title else ""}{". " + body if body else ""}'
    words = re.sub(r'\s+', ' ', words.replace('▁', '_'))
    return words if len(words) <= LONGEST else words[:words.rindex(' ', 0, LONGEST - 1)] + ' …'
