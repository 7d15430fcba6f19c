/** A metric as `/metrics` shows it. */
interface Family {
  readonly name: string;
  readonly help: string | null;
  readonly type: string;
  /** Label names of each sample, and its whole name with labels. */
  readonly samples: readonly { readonly text: string; readonly labels: readonly string[] }[];
}

const BASE_UNITS = 'amperes bytes celsius grams joules kelvin meters metres seconds volts'.split(' ');
const OTHER_UNITS =
  'minutes hours days weeks kelvins fahrenheit rankine inches yards miles bits calories pounds ounces'.split(' ');
const PREFIXES = 'pico nano micro milli centi deci deca hecto kilo kibi mega mibi giga gibi tera tebi peta pebi'.split(
  ' ',
);
const ABBREVIATIONS = 's ms us ns sec b kb mb gb tb pb m h d'.split(' ');
const TYPES = ['counter', 'gauge', 'histogram', 'summary'];
const PARTS = /_(?:bucket|sum|count)$/;

/** What `promtool check metrics` reports: the rules of promlint, of github.com/prometheus/client_golang. */
export function lintMetrics(text: string): readonly string[] {
  return familiesOf(text).flatMap((family) => problemsOf(family).map((problem) => `${family.name} ${problem}`));
}

function problemsOf({ name, help, type, samples }: Family): readonly string[] {
  const words = name.toLowerCase().split('_');
  const unit = words.find((word) => unitOf(word) !== null);
  const labels = samples.flatMap((sample) => sample.labels);
  const isHistogram = type === 'histogram';
  const hasParts = isHistogram || type === 'summary';
  const rules: readonly (readonly [boolean, string])[] = [
    [help === null || help === '', 'no help text'],
    [!TYPES.includes(type), 'no type'],
    [unit !== undefined && !BASE_UNITS.includes(unit), `use a base unit instead of "${unit}"`],
    [type === 'counter' && !name.endsWith('_total'), 'counter metrics should have "_total" suffix'],
    [type !== 'counter' && name.endsWith('_total'), 'non-counter metrics should not have "_total" suffix'],
    [!isHistogram && name.endsWith('_bucket'), 'non-histogram metrics should not have "_bucket" suffix'],
    [!hasParts && /_(?:count|sum)$/.test(name), 'should not have "_count" or "_sum" suffix'],
    [!isHistogram && labels.includes('le'), 'non-histogram metrics should not have "le" label'],
    [type !== 'summary' && labels.includes('quantile'), 'non-summary metrics should not have "quantile" label'],
    [words.slice(1).includes(type), `metric name should not include type '${type}'`],
    [name.includes(':'), "metric names should not contain ':'"],
    [[name, ...labels].some((each) => /[a-z][A-Z]/.test(each)), "should be written in 'snake_case' not 'camelCase'"],
    [words.slice(1).some((word) => ABBREVIATIONS.includes(word)), 'should not contain abbreviated units'],
    [new Set(samples.map((sample) => sample.text)).size < samples.length, 'metric not unique'],
    // Ours: times and durations say which they are.
    [words.at(-1) === 'seconds' && !isTimed(name), 'should end in _timestamp_seconds or _duration_seconds'],
  ];
  return rules.flatMap(([isBroken, problem]) => (isBroken ? [problem] : []));
}

/** Metrics of the library have names of their own. */
function isTimed(name: string): boolean {
  return !name.startsWith('postern_') || /_(?:timestamp|duration)_seconds$/.test(name);
}

function unitOf(word: string): string | null {
  if (BASE_UNITS.includes(word) || OTHER_UNITS.includes(word)) return word;
  const prefix = PREFIXES.find((each) => word.startsWith(each));
  return prefix === undefined ? null : unitOf(word.slice(prefix.length));
}

function familiesOf(text: string): readonly Family[] {
  const families = new Map<
    string,
    { name: string; help: string | null; type: string; samples: Family['samples'][number][] }
  >();
  const family = (name: string) => {
    const known = families.get(name) ?? { name, help: null, type: 'untyped', samples: [] };
    families.set(name, known);
    return known;
  };
  for (const line of text.split('\n')) {
    const [, kind, name = '', rest = ''] = /^# (HELP|TYPE) (\S+) ?(.*)$/.exec(line) ?? [];
    if (kind === 'HELP') family(name).help = rest;
    else if (kind === 'TYPE') family(name).type = rest;
    else if (line !== '' && !line.startsWith('#')) addSample(line, families, family);
  }
  return [...families.values()];
}

function addSample(line: string, families: ReadonlyMap<string, unknown>, family: (name: string) => unknown): void {
  const [, whole = '', labels = ''] = /^([\w:]+)(\{.*\})? \S+$/.exec(line) ?? [];
  const own = whole.replace(PARTS, '');
  const { samples } = family(families.has(whole) ? whole : families.has(own) ? own : whole) as { samples: unknown[] };
  samples.push({
    text: whole + labels,
    labels: Array.from(labels.matchAll(/(\w+)="(?:[^"\\]|\\.)*"/g), ([, name]) => name),
  });
}
