import type { GuardedFetch } from '../../kit/http/guarded-fetch.ts';
import { HTTP_URL_FORM, parseHttpUrl } from '../../kit/http/urls.ts';
import { isLoopbackHost } from '../../kit/net/listen-address.ts';

/** A TXT record. Other values of the name belong to others, and stay. */
export interface TxtRecord {
  /** In lower case, without a final dot. */
  readonly name: string;
  readonly value: string;
}

/** An option of a provider in the setting `acme_dns`. */
export interface ProviderOption {
  /** For the operator. The documentation is generated from it. */
  readonly description: string;
  /** Secrets are references to a variable or file, and other options are plain text. */
  readonly kind: 'text' | 'secret';
  readonly isRequired: boolean;
  /** Whether a value is allowed; secrets are not asked for. */
  readonly accepts?: (value: string) => boolean;
}

/** Stands for all zones that the setting does not name. */
export const OTHER_ZONES = '*';

/** One zone of the setting `acme_dns`. */
export interface DnsZone {
  /** In lower case, without a final dot. */
  readonly zone: string;
  readonly provider: string;
  /** As in the setting: secrets are references. */
  readonly options: Readonly<Record<string, string>>;
}

export interface ProviderPorts {
  readonly fetch: GuardedFetch;
  readonly wait: (ms: number, signal: AbortSignal) => Promise<void>;
  readonly nowMs: () => number;
  /** Addresses of a host. */
  readonly addressesOf: (host: string) => Promise<readonly string[]>;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly hookTimeoutMs: number;
}

export interface OpenedZone extends DnsZone {
  readonly ports: ProviderPorts;
  /** Reads the secret each time: a file may change while the server runs. Rejects with a DnsFailure. */
  secret(option: string): Promise<string>;
}

/** Changes records of one zone. Everything rejects with a DnsFailure. */
export interface ZoneRecords {
  /** Resolves when the provider has accepted the value. A value that is there already stays once. */
  add(record: TxtRecord, signal: AbortSignal): Promise<void>;
  /** A missing value is fine. */
  remove(record: TxtRecord, signal: AbortSignal): Promise<void>;
  /** Tries the credentials without changing anything. Resolves to what was found, for the doctor. */
  check(signal: AbortSignal): Promise<string>;
}

/** A kind of DNS service: one folder in `providers`, and one line in its registry. */
export interface DnsProvider {
  /** Name in the setting, and of the folder. */
  readonly name: string;
  readonly title: string;
  readonly options: Readonly<Record<string, ProviderOption>>;
  /**
   * The provider waits itself until the record is visible, and may keep one value per name only, so orders take turns.
   */
  readonly isHook: boolean;
  /** Loaded with the first record. */
  load(): Promise<(zone: OpenedZone) => ZoneRecords>;
}

/**
 * Why a DNS record was not published or removed. The message is for people, says what to do, and contains no secret.
 */
export class DnsFailure extends Error {
  /** The record may appear later without another change. */
  readonly isPending: boolean;

  constructor(message: string, { isPending = false }: { readonly isPending?: boolean } = {}) {
    super(message);
    this.name = 'DnsFailure';
    this.isPending = isPending;
  }
}

/** Underscores are for names such as `_acme-challenge`, which hosts cannot have. */
const NAME = /^(?=.{1,253}$)[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?(\.[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?)*$/;

/** Whether the text is the name of a zone or record: in lower case, without a final dot. */
export function isRecordName(text: string): boolean {
  return NAME.test(text);
}

/** Part of the name before the zone; `@` is the zone itself. */
export function nameInZone(name: string, zone: string): string {
  return name === zone ? '@' : name.slice(0, -zone.length - 1);
}

/** The longest of the zones that the name is in. */
export function longestZone<Zone extends { readonly zone: string }>(name: string, zones: readonly Zone[]): Zone | null {
  let longest: Zone | null = null;
  for (const each of zones) {
    const isInside = name === each.zone || name.endsWith(`.${each.zone}`);
    if (isInside && each.zone.length > (longest?.zone.length ?? -1)) longest = each;
  }
  return longest;
}

export function secretOption(description: string, isRequired = true): ProviderOption {
  return { description, kind: 'secret', isRequired };
}

export function textOption(
  description: string,
  {
    isRequired = false,
    accepts,
  }: { readonly isRequired?: boolean; readonly accepts?: (value: string) => boolean } = {},
): ProviderOption {
  return { description, kind: 'text', isRequired, ...(accepts !== undefined && { accepts }) };
}

/** Credentials are sent to it: without TLS only to this machine. */
export function urlOption(description: string, isRequired = false): ProviderOption {
  const form = `${HTTP_URL_FORM}; http:// only for this machine`;
  return textOption(`${description} Allowed: ${form}.`, {
    isRequired,
    accepts: (value) => {
      const url = parseHttpUrl(value);
      return url !== null && (url.startsWith('https:') || isLoopbackHost(new URL(url).hostname));
    },
  });
}
