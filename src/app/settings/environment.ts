import { didYouMean } from '../../kit/text/near-match.ts';
import { decodeSetting, isUnset } from './decode.ts';
import { configErrors } from './errors.ts';
import { settingNames, variableOf } from './schema.ts';
import { attributesOf, headersOf, type NamedValues, PROTOCOLS } from './tracing-settings.ts';

export const CONFIG_VARIABLE = 'POSTERN_CONFIG';

/** Variables with our prefix that are not settings: the command line, the launcher and the tests read them. */
const OTHER_VARIABLES = [
  CONFIG_VARIABLE,
  'POSTERN_BACKUP_PASSPHRASE',
  'POSTERN_CLI_API_KEY',
  'POSTERN_CLI_API_URL',
  'POSTERN_HANDOVER',
  'POSTERN_LAUNCHER',
  'POSTERN_SERVER_ADDR',
];
const TEST_PREFIX = 'POSTERN_TEST_';

/**
 * Kubernetes injects these for every Service whose name starts with "postern" (the service environment variables and
 * the Docker link variables of its documentation), into every pod of the namespace. They are not typos.
 */
const SERVICE_VARIABLE =
  /^POSTERN_(?:[A-Z0-9_]+_)?(?:SERVICE_HOST|SERVICE_PORT(?:_[A-Z0-9_]+)?|PORT(?:_\d+_(?:TCP|UDP|SCTP)(?:_(?:PROTO|PORT|ADDR))?)?)$/;

/**
 * Throws for an unknown `POSTERN_` variable: a misspelled one would silently have no effect.
 * Returns warnings for those that Kubernetes injects.
 */
export function checkVariables(env: Readonly<Record<string, string | undefined>>): readonly string[] {
  const known = [...settingNames.map(variableOf), ...OTHER_VARIABLES];
  const given = Object.keys(env).filter((name) => name.startsWith('POSTERN_') && !isUnset(env[name]));
  const unknown = given.filter((name) => !name.startsWith(TEST_PREFIX) && !known.includes(name));
  const typed = unknown.find((name) => !SERVICE_VARIABLE.test(name));
  if (typed !== undefined) {
    const message = `unknown environment variable ${typed}.${didYouMean(typed, known)}`;
    throw configErrors.create('ERR_POSTERN_CONFIG_UNKNOWN', message);
  }
  if (unknown.length === 0) return [];
  return [
    `ignoring variables that look like Kubernetes service variables: ${unknown.join(', ')}. Set enableServiceLinks: false in the pod spec to remove them`,
  ];
}

/** A value of a setting that a variable of OpenTelemetry has. */
interface OtelValue {
  readonly value: string | number | NamedValues | null;
  readonly source: string;
}

interface OtelValues {
  readonly values: ReadonlyMap<string, OtelValue>;
  readonly warnings: readonly string[];
}

type Variables = Readonly<Record<string, string | undefined>>;
type Found = readonly [variable: string, value: string];

/** The exporter of traces has its own variables, which come before those of all exporters. */
const PREFIXES = ['OTEL_EXPORTER_OTLP_TRACES_', 'OTEL_EXPORTER_OTLP_'] as const;
const ENDPOINTS = ['otel_traces_endpoint', 'otel_endpoint'] as const;

/**
 * The settings of traces that variables of the OpenTelemetry specification name, for settings that nothing of ours
 * names (`isOwn`). As it demands, values that nobody knows are ignored with a warning. An endpoint or a protocol that
 * cannot work is an error: without traces nobody would notice.
 */
export function otelValues(env: Variables, isOwn: (setting: string) => boolean): OtelValues {
  const reading = new Reading(env, isOwn);
  const hasOwnEndpoint = ENDPOINTS.some(isOwn);
  if (reading.isDisabled()) return reading.disabled(hasOwnEndpoint);
  if (!hasOwnEndpoint && !reading.readEndpoint()) return reading;
  reading.readProtocol();
  reading.readHeaders();
  reading.readService();
  reading.readSampler();
  return reading;
}

class Reading implements OtelValues {
  readonly values = new Map<string, OtelValue>();
  readonly warnings: string[] = [];
  readonly #env: Variables;
  readonly #isOwn: (setting: string) => boolean;

  constructor(env: Variables, isOwn: (setting: string) => boolean) {
    this.#env = env;
    this.#isOwn = isOwn;
  }

  /** Anything but "true", in upper or lower case, is false. */
  isDisabled(): boolean {
    return this.#find('OTEL_SDK_DISABLED')?.[1].trim().toLowerCase() === 'true';
  }

  disabled(hasOwnEndpoint: boolean): OtelValues {
    const source = 'variable OTEL_SDK_DISABLED';
    for (const name of ENDPOINTS) this.values.set(name, { value: null, source });
    this.values.set('otel_headers', { value: null, source });
    if (hasOwnEndpoint) this.warnings.push('OTEL_SDK_DISABLED is true: no traces are sent to the collector');
    return this;
  }

  /** Whether there is one. */
  readEndpoint(): boolean {
    const given = PREFIXES.map((prefix) => this.#find(`${prefix}ENDPOINT`));
    const at = given.findIndex((found) => found !== null);
    const [found, setting] = [given[at] ?? null, ENDPOINTS[at]];
    if (found === null || setting === undefined || !this.#isExporterOtlp()) return false;
    this.#set(setting, found, decodeSetting(setting, found[1], sourceOf(found)) as string);
    return true;
  }

  readProtocol(): void {
    const found = this.#ofExporter('PROTOCOL');
    if (found === null || this.#isOwn('otel_protocol')) return;
    const [variable, value] = found;
    if (value !== 'grpc' && !PROTOCOLS.some((known) => known === value))
      this.#ignored(variable, `is ${shown(value)}, which is no protocol of OTLP`);
    else this.#set('otel_protocol', found, decodeSetting('otel_protocol', value, sourceOf(found)) as string);
  }

  readHeaders(): void {
    const found = this.#ofExporter('HEADERS');
    if (found === null || this.#isOwn('otel_headers')) return;
    const headers = headersOf(found[1], decodeURIComponent);
    // The value is a secret.
    if (headers === null) this.#ignored(found[0], 'is not NAME=VALUE, separated by commas and percent-encoded');
    else this.#set('otel_headers', found, headers);
  }

  readService(): void {
    const name = this.#find('OTEL_SERVICE_NAME');
    if (name !== null && !this.#isOwn('otel_service_name')) this.#set('otel_service_name', name, name[1]);
    const found = this.#find('OTEL_RESOURCE_ATTRIBUTES');
    if (found === null || this.#isOwn('otel_resource_attributes')) return;
    const attributes = attributesOf(found[1]);
    // In whole, as the specification says.
    if (attributes === null) this.#ignored(found[0], 'is not KEY=VALUE, separated by commas and percent-encoded');
    else this.#set('otel_resource_attributes', found, attributes);
  }

  /** The flag of a visitor never decides, so that `parentbased_` makes no difference. */
  readSampler(): void {
    const found = this.#find('OTEL_TRACES_SAMPLER');
    if (found === null || this.#isOwn('otel_sample_ratio')) return;
    const [, name] = /^(?:parentbased_)?(always_on|always_off|traceidratio)$/.exec(found[1]) ?? [];
    if (name === undefined) this.#ignored(found[0], `is ${shown(found[1])}, which Postern does not have`);
    else this.#set('otel_sample_ratio', found, name === 'traceidratio' ? this.#ratio() : Number(name === 'always_on'));
  }

  #ratio(): number {
    const found = this.#find('OTEL_TRACES_SAMPLER_ARG');
    if (found === null) return 1;
    const ratio = /^\d*\.?\d+$/.test(found[1]) ? Number(found[1]) : Number.NaN;
    if (ratio >= 0 && ratio <= 1) return ratio;
    this.#ignored(found[0], `is ${shown(found[1])}, not a number from 0 to 1`);
    return 1;
  }

  #isExporterOtlp(): boolean {
    const found = this.#find('OTEL_TRACES_EXPORTER');
    const names = found?.[1].split(',').map((name) => name.trim()) ?? ['otlp'];
    if (names.includes('otlp')) return true;
    if (found !== null && !names.includes('none'))
      this.warnings.push(
        `OTEL_TRACES_EXPORTER is ${shown(found[1])}: no traces are sent, because Postern has only otlp`,
      );
    return false;
  }

  #ofExporter(name: string): Found | null {
    return this.#find(`${PREFIXES[0]}${name}`) ?? this.#find(`${PREFIXES[1]}${name}`);
  }

  #find(variable: string): Found | null {
    const value = this.#env[variable];
    return value === undefined || isUnset(value) ? null : [variable, value];
  }

  #set(setting: string, found: Found, value: OtelValue['value']): void {
    this.values.set(setting, { value, source: sourceOf(found) });
  }

  #ignored(variable: string, why: string): void {
    this.warnings.push(`ignoring ${variable}, which ${why}`);
  }
}

function sourceOf([variable]: Found): string {
  return `variable ${variable}`;
}

function shown(value: string): string {
  return JSON.stringify(value.slice(0, 60));
}
