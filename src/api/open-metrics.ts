export const OPEN_METRICS_TYPE = 'application/openmetrics-text; version=1.0.0; charset=utf-8';

const OPEN_METRICS = 'application/openmetrics-text';
const KNOWN_VERSIONS: ReadonlySet<string> = new Set(['', '1.0.0', '0.0.1']);

/** Whether the client wants OpenMetrics at least as much as the text format of Prometheus. */
export function prefersOpenMetrics(accept: string | undefined): boolean {
  let open = 0;
  let plain = 0;
  for (const item of (accept ?? '').split(',')) {
    const [type = '', ...parameters] = item.split(';').map((part) => part.trim().toLowerCase());
    const parameter = (name: string): string =>
      parameters.find((each) => each.startsWith(`${name}=`))?.slice(name.length + 1) ?? '';
    const quality = parameter('q') === '' ? 1 : Number(parameter('q'));
    if (type === OPEN_METRICS && KNOWN_VERSIONS.has(parameter('version'))) open = Math.max(open, quality);
    else if (type === 'text/plain') plain = Math.max(plain, quality);
  }
  return open > 0 && open >= plain;
}

/**
 * The text format of Prometheus as OpenMetrics 1.0. The library's own form renames the counters of the registry for
 * good, and two families get one name where a gauge has the name of a counter without `_total`: such a counter is of
 * unknown type here.
 */
export function openMetricsText(prometheusText: string): string {
  const families = prometheusText.trimEnd().split('\n\n').map(familyOf);
  const gauges = new Set(families.filter(({ type }) => type !== 'counter').map(({ name }) => name));
  const texts = families.map((family) => familyText(family, gauges));
  return `${texts.join('\n')}\n# EOF\n`;
}

interface Family {
  readonly name: string;
  readonly help: string;
  readonly type: string;
  /** With a line break before each. */
  readonly samples: string;
}

const FAMILY = /^# HELP (\S+) (.*)\n# TYPE \S+ (\S+)/;

function familyOf(text: string): Family {
  const [head = '', name = '', help = '', type = ''] = FAMILY.exec(text) ?? [];
  return { name, help, type, samples: text.slice(head.length) };
}

function familyText({ name, help, type, samples }: Family, others: ReadonlySet<string>): string {
  const stem = name.replace(/_total$/, '');
  const isClash = type === 'counter' && (stem === name || others.has(stem));
  const family = type === 'counter' && !isClash ? stem : name;
  const lines = [`# HELP ${family} ${help.replaceAll('"', '\\"')}`, `# TYPE ${family} ${isClash ? 'unknown' : type}`];
  return lines.join('\n') + canonical(samples, type);
}

/** Bounds of buckets are floating-point numbers in their shortest form with a point. */
function canonical(samples: string, type: string): string {
  const bounded = type === 'histogram' ? samples.replaceAll(/le="(\d+)"/g, 'le="$1.0"') : samples;
  return bounded.includes(' Nan') ? bounded.replaceAll(/ Nan$/gm, ' NaN') : bounded;
}
