import type { TSchema } from 'typebox';
import Type from 'typebox';
import { HTTP_URL_FORM, parseHttpUrl } from '../http/urls.ts';
import type { JsonObject } from '../json.ts';
import { isCidr } from '../net/cidr.ts';
import { databaseServers } from '../net/database-url.ts';
import {
  formatListenAddress,
  formatPortRange,
  isHostName,
  type ListenAddress,
  type ListenAddresses,
  type PortRange,
  parseListenAddress,
  parsePortRange,
} from '../net/listen-address.ts';
import { type BareUnit, type DurationRule, durationForm, durationText, readDuration } from '../text/time.ts';

/** A value as in YAML; text from flags and variables is converted to this form first. */
export type WireValue = string | number | boolean | readonly string[] | JsonObject;

/** The kind of a setting's value: its form in YAML, and the program's type. */
export interface SettingKind<Value> {
  /** The form in YAML, as far as JSON Schema can express it; `decode` checks the rest. */
  readonly schema: TSchema;
  /** The allowed values, phrased to follow "allowed:". */
  readonly allowed: string;
  /** Stands for a value in help: `HOST:PORT`. */
  readonly hint: string;
  /** Returns `undefined` to reject. Called with values that match the schema. */
  decode(wire: WireValue): Value | undefined;
  /** What is wrong with a rejected value, without repeating it: it follows the name of the setting in the message. */
  problem?(wire: unknown): string | null;
  encode(value: Value): WireValue;
}

/** `password`: only the password inside the value is secret, the rest may be shown. */
type Secrecy = 'public' | 'secret' | 'password';

interface SettingText {
  /** For the operator: what it does. The documentation and the comments of the defaults file are generated from it. */
  readonly description: string;
  readonly secrecy?: Secrecy;
  /** Set while nothing reads the value yet: the version from which it has an effect. */
  readonly usedFrom?: string;
  /** For a module's setting: the heading that it has in help and in the reference. */
  readonly group?: string;
}

export interface Setting<Value> extends Required<Omit<SettingText, 'usedFrom' | 'group'>>, Pick<SettingText, 'group'> {
  readonly kind: SettingKind<Value>;
  readonly usedFrom: string | null;
  readonly isOptional: boolean;
}

/** A setting that always has a value: the defaults file has one. */
export function required<Value>(kind: SettingKind<Value>, text: SettingText): Setting<Value> {
  return { kind, isOptional: false, secrecy: 'public', usedFrom: null, ...text };
}

/** A setting that may be unset, which is `null`. */
export function optional<Value>(kind: SettingKind<Value>, text: SettingText): Setting<Value | null> {
  // Only values made by `decode` reach `encode`: the holder of the configuration handles null.
  return { kind: kind as SettingKind<Value | null>, isOptional: true, secrecy: 'public', usedFrom: null, ...text };
}

/** The row of a module's setting, which includes its default: the defaults file is generated from it. */
export interface DeclaredSetting<Value> extends Setting<Value> {
  readonly default: WireValue;
  /** A warning of `postern doctor` for a value that works but allows more than may be intended. */
  risk?(value: Value): SettingRisk | null;
}

export interface SettingRisk {
  readonly message: string;
  readonly advice: string;
}

export function declared<Value>(
  kind: SettingKind<Value>,
  { default: value, risk, ...text }: SettingText & Pick<DeclaredSetting<Value>, 'default' | 'risk'>,
): DeclaredSetting<Value> {
  return { ...required(kind, text), default: value, ...(risk !== undefined && { risk }) };
}

/** By the name in the YAML file. Method parameters are bivariant: a row of any value fits. */
export type SettingRows = Readonly<Record<string, Setting<unknown>>>;
export type DeclaredSettings = Readonly<Record<string, DeclaredSetting<unknown>>>;

export type SettingValues<Rows extends SettingRows> = {
  readonly [Name in keyof Rows]: Rows[Name] extends Setting<infer Value> ? Value : never;
};

export function variableOf(name: string): string {
  return `POSTERN_${name.toUpperCase()}`;
}

/** Without its dashes. */
export function flagOf(name: string): string {
  return name.replaceAll('_', '-');
}

const LONGEST_CHOICES = 40;

/** The kind with another word for its values in help. */
export function hinted<Value>(hint: string, kind: SettingKind<Value>): SettingKind<Value> {
  return { ...kind, hint };
}

export function text(allowed: string, accepts: (value: string) => boolean = () => true): SettingKind<string> {
  return parsedText(
    allowed,
    (value) => (accepts(value) ? value : null),
    (value) => value,
  );
}

export function choice<const Choice extends string>(choices: readonly Choice[]): SettingKind<Choice> {
  const kind = parsedText<Choice>(
    choices.join(', '),
    (value) => choices.find((known) => known === value) ?? null,
    (value) => value,
  );
  const all = choices.join('|');
  return hinted(all.length > LONGEST_CHOICES ? 'WORD' : all, kind);
}

export function integer(minimum: number, maximum: number): SettingKind<number> {
  return {
    schema: Type.Integer({ minimum, maximum }),
    allowed: `a whole number from ${minimum} to ${maximum}`,
    hint: 'NUMBER',
    decode: (wire) => wire as number,
    encode: (value) => value,
  };
}

/** Text with a unit, or a number in `unit`. The program gets a number in `unit`. */
export function duration(
  unit: BareUnit,
  minimum: number,
  maximum: number,
  options: Pick<DurationRule, 'hasFractions'> = {},
): SettingKind<number> {
  const rule = { unit, minimum, maximum, ...options };
  return {
    schema: Type.Union([Type.Number(), Type.String()]),
    allowed: durationForm(rule),
    hint: 'DURATION',
    decode: (wire) => readDuration(wire, rule),
    // A bare number would not say its unit.
    encode: (value) => (value === 0 ? 0 : durationText(value, unit)),
  };
}

/** A number, or `auto`. */
export function integerOrAuto(minimum: number, maximum: number): SettingKind<number | 'auto'> {
  return {
    // Text too: that is what flags and variables are.
    schema: Type.Union([Type.Integer({ minimum, maximum }), Type.String()]),
    allowed: `a whole number from ${minimum} to ${maximum}, or auto`,
    hint: 'NUMBER|auto',
    decode: (wire) => {
      if (typeof wire === 'number' || wire === 'auto') return wire;
      const number = typeof wire === 'string' && /^\d{1,9}$/.test(wire) ? Number(wire) : Number.NaN;
      return number >= minimum && number <= maximum ? number : undefined;
    },
    encode: (value) => value,
  };
}

export const fraction: SettingKind<number> = {
  schema: Type.Number({ minimum: 0, maximum: 1 }),
  allowed: 'a number from 0 to 1, such as 0.01',
  hint: 'SHARE',
  decode: (wire) => wire as number,
  encode: (value) => value,
};

export const boolean: SettingKind<boolean> = {
  schema: Type.Boolean(),
  allowed: 'true or false',
  // A switch.
  hint: '',
  decode: (wire) => wire as boolean,
  encode: (value) => value,
};

export const listenAddress: SettingKind<ListenAddress> = hinted(
  'HOST:PORT',
  parsedText('HOST:PORT or [IPV6]:PORT; port 0 picks a free port', parseListenAddress, formatListenAddress),
);

/** Where others connect to: they need the real port. */
export const dialledAddress: SettingKind<ListenAddress> = hinted(
  'HOST:PORT',
  parsedText(
    'HOST:PORT or [IPV6]:PORT, with a port from 1 to 65535',
    (value) => {
      const address = parseListenAddress(value);
      return address === null || address.port === 0 ? null : address;
    },
    formatListenAddress,
  ),
);

export const listenAddressOrOff: SettingKind<ListenAddress | 'off'> = hinted(
  'HOST:PORT|off',
  parsedText(
    'off, or HOST:PORT or [IPV6]:PORT; port 0 picks a free port',
    (value) => (value === 'off' ? value : parseListenAddress(value)),
    (value) => (value === 'off' ? value : formatListenAddress(value)),
  ),
);

/** Far more than any machine needs; every address is a listener. */
const MAX_LISTEN_ADDRESSES = 32;

/** One address stays text, so that it is printed as it was written. */
export const listenAddresses: SettingKind<ListenAddresses> = {
  schema: Type.Union([Type.String(), Type.Array(Type.String())]),
  allowed: 'HOST:PORT or [IPV6]:PORT, or a list of them; port 0 picks a free port',
  hint: 'HOST:PORT,…',
  decode: (wire) => {
    const items = typeof wire === 'string' ? wire.split(',') : (wire as readonly string[]);
    const texts = [...new Set(items.map((item) => item.trim()))];
    const addresses = texts.flatMap((item) => parseListenAddress(item) ?? []);
    const [first, ...others] = addresses;
    if (first === undefined || addresses.length < texts.length || texts.length > MAX_LISTEN_ADDRESSES) return undefined;
    return [first, ...others];
  },
  encode: ([first, ...others]) =>
    others.length === 0 ? formatListenAddress(first) : [first, ...others].map(formatListenAddress),
};

export const portRange: SettingKind<PortRange> = hinted(
  'HOST:FIRST-LAST',
  parsedText('HOST:FIRST-LAST, such as 127.0.0.1:20000-20099', parsePortRange, formatPortRange),
);

export const domainName = hinted(
  'DOMAIN',
  text('a lowercase domain name, such as example.com', (value) => {
    return isHostName(value) && value === value.toLowerCase();
  }),
);

export const postgresUrl = hinted(
  'URL',
  text(
    'postgres://USER:PASSWORD@HOST:PORT/DATABASE with user and password percent-encoded, and commas between several HOST:PORT',
    (value) => databaseServers(value) !== null,
  ),
);

export const httpUrl: SettingKind<string> = hinted(
  'URL',
  parsedText(HTTP_URL_FORM, parseHttpUrl, (value) => value),
);

export const presetToken = hinted(
  'TOKEN',
  text('32 to 200 visible ASCII characters', (value) => /^[\x21-\x7e]{32,200}$/.test(value)),
);

/** Several during a rotation: the first seals, all open. */
export const secretKeys = hinted(
  'KEY,…',
  text(
    '32 bytes in base64 (openssl rand -base64 32), or a comma-separated list of them with the current key first',
    (value) => value.split(',').every((key) => /^[A-Za-z0-9+/]{43}=$/.test(key.trim())),
  ),
);

export const email = hinted(
  'ADDRESS',
  text('an email address, such as admin@example.com', (value) =>
    /^[\x21-\x7e]{1,64}@[A-Za-z0-9.-]{1,253}$/.test(value),
  ),
);

export const visibleText = text('1 to 256 visible ASCII characters', (value) => /^[\x21-\x7e]{1,256}$/.test(value));

/** At least 128 bits. Base64url as RFC 8555 §7.3.4 says, with or without padding. */
export const macKey = hinted(
  'KEY',
  text('a key in base64url of at least 16 bytes', (value) => /^[A-Za-z0-9_-]{22,512}={0,2}$/.test(value)),
);

export const httpsUrlList = hinted(
  'URL,…',
  textList('https:// URLs without user, query or fragment', (value) => {
    return value.startsWith('https://') && parseHttpUrl(value) !== null;
  }),
);

/** As browsers send them in the header Origin. */
export const originList = hinted(
  'ORIGIN,…',
  textList(
    'origins without a path, such as https://admin.example.com or http://localhost:5173',
    (value) => URL.canParse(value) && /^https?:$/.test(new URL(value).protocol) && new URL(value).origin === value,
  ),
);

export const cidrList = hinted('CIDR,…', textList('CIDR ranges, such as 10.0.0.0/8', isCidr));

export const hostList = hinted(
  'HOST,…',
  textList('host names or addresses, with an optional port', (value) => {
    return parseListenAddress(value.replace(/:\d+$/, '').concat(':1')) !== null;
  }),
);

export const portList: SettingKind<readonly number[]> = {
  // Numbers in YAML, text in flags and variables.
  schema: Type.Array(Type.Union([Type.Integer(), Type.String({ pattern: '^[1-9][0-9]{0,4}$' })])),
  allowed: 'a list of: ports from 1 to 65535',
  hint: 'PORT,…',
  decode: (wire) => {
    const ports = (wire as readonly (number | string)[]).map(Number);
    return ports.every((port) => port >= 1 && port <= 65_535) ? [...new Set(ports)] : undefined;
  },
  encode: (value) => value.map(String),
};

export const headerNameList = hinted(
  'NAME,…',
  textList('header names, or prefixes such as x-forwarded-*', (value) => /^[A-Za-z0-9_-]+\*?$/.test(value)),
);

export const hostPatternList = hinted(
  'HOST,…',
  textList('lowercase host names, or wildcards such as *.example.com', (value) => {
    const name = value.startsWith('*.') ? value.slice(2) : value;
    return isHostName(name) && value === value.toLowerCase();
  }),
);

export function choiceList<const Choice extends string>(choices: readonly Choice[]): SettingKind<readonly Choice[]> {
  const kind = textList(choices.join(', '), (value) => choices.some((known) => known === value));
  return {
    ...kind,
    hint: `${choices.length > 4 ? 'WORD' : choices.join('|')},…`,
    decode: (wire) => {
      const values = kind.decode(wire);
      return values === undefined || values.length === 0 ? undefined : (values as readonly Choice[]);
    },
    encode: (value) => value,
  };
}

export function textList(allowed: string, accepts: (item: string) => boolean): SettingKind<readonly string[]> {
  return {
    schema: Type.Array(Type.String()),
    allowed: `a list of: ${allowed}`,
    hint: 'TEXT,…',
    decode: (wire) => {
      const items = wire as readonly string[];
      return items.every(accepts) ? [...new Set(items)] : undefined;
    },
    encode: (value) => value,
  };
}

function parsedText<Value>(
  allowed: string,
  parse: (text: string) => Value | null,
  format: (value: Value) => WireValue,
): SettingKind<Value> {
  return {
    schema: Type.String(),
    allowed,
    hint: 'TEXT',
    decode: (wire) => parse(wire as string) ?? undefined,
    encode: format,
  };
}
