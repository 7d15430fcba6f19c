import { type ParsedFlags, usage } from '../../lib/flags.ts';
import { isId } from '../names/is-id.ts';

/** What `postern edge` is to make. */
export interface WantedEdge {
  readonly host: string;
  /** Null: as it is, or 443 for a new edge. */
  readonly port: number | null;
  readonly path: string;
  readonly target: WantedTarget;
  readonly login: WantedLogin | null;
  readonly emailDomains: readonly string[];
}

export type WantedTarget =
  | { readonly kind: 'address'; readonly address: string; readonly hasTls: boolean }
  | { readonly kind: 'backend'; readonly id: string };

export interface WantedLogin {
  readonly issuer: string;
  readonly clientId: string;
  /** Null: keep the stored one. */
  readonly clientSecret: string | null;
}

const HOST = /^(?<host>(?:\*\.)?[\w-]+(?:\.[\w-]+)*\.?)(?::(?<port>\d{1,5}))?(?<path>\/\S*)?$/;

/** The one argument: `app.example.com`, `app.example.com:7443`, `app.example.com/admin`. */
export function parseSite(positionals: readonly string[]): Pick<WantedEdge, 'host' | 'port' | 'path'> {
  const [text = '', ...others] = positionals;
  if (text === '' || others.length > 0) {
    throw usage('postern edge takes one host: postern edge app.example.com --to 127.0.0.1:3000');
  }
  const { host, port, path } = HOST.exec(text.replace(/^https:\/\//, ''))?.groups ?? {};
  if (host === undefined)
    throw usage('the host must have the form app.example.com, app.example.com:7443 or app.example.com/path');
  return {
    host: host.toLowerCase().replace(/\.$/, ''),
    port: port === undefined ? null : Number(port),
    path: path ?? '/',
  };
}

/** `127.0.0.1:3000`, `3000`, `http://web:8080`, `https://web`, or the id of a backend. */
export function parseTarget(text: string | undefined): WantedTarget {
  if (text === undefined) throw usage('--to is required: --to 127.0.0.1:3000');
  if (isId(text)) return { kind: 'backend', id: text };
  if (/^\d{1,5}$/.test(text)) return { kind: 'address', address: `127.0.0.1:${text}`, hasTls: false };
  const [, scheme = 'http', rest = ''] = /^(?:(https?):\/\/)?([^/\s]+)\/?$/.exec(text) ?? [];
  const hasPort = /:\d{1,5}$/.test(rest);
  if (rest === '' || (!hasPort && !text.includes('://'))) {
    throw usage('--to takes host:port, a port, http://host:port, https://host:port or the id of a backend');
  }
  const port = scheme === 'https' ? 443 : 80;
  return { kind: 'address', address: hasPort ? rest : `${rest}:${port}`, hasTls: scheme === 'https' };
}

export function parseLogin(flags: ParsedFlags['flags'], clientSecret: string | null): WantedLogin | null {
  const [issuer, clientId] = [flags.get('oidc'), flags.get('client-id')];
  if (issuer === undefined) {
    const [extra] = ['client-id', 'client-secret-file'].filter((name) => flags.has(name));
    if (extra !== undefined) throw usage(`--${extra} needs --oidc ISSUER`);
    return null;
  }
  if (clientId === undefined) throw usage('--oidc needs --client-id ID, which the provider gave your application');
  return { issuer, clientId, clientSecret };
}

/** Takes `--allow-email-domain` out of the arguments: it may be repeated, and have several domains separated by commas. */
export function takeEmailDomains(args: readonly string[]): {
  readonly emailDomains: readonly string[];
  readonly others: readonly string[];
} {
  const flag = '--allow-email-domain';
  const [emailDomains, others]: [string[], string[]] = [[], []];
  for (let at = 0; at < args.length; at += 1) {
    const arg = args[at] as string;
    if (arg !== flag && !arg.startsWith(`${flag}=`)) {
      others.push(arg);
      continue;
    }
    if (arg === flag) at += 1;
    const value = arg === flag ? (args[at] ?? '') : arg.slice(flag.length + 1);
    const domains = value.split(',').map((each) => each.trim().toLowerCase().replace(/^@/, ''));
    if (domains.some((domain) => !/^[\w-]+(\.[\w-]+)+$/.test(domain))) {
      throw usage(`${flag} requires a domain: ${flag} example.com`);
    }
    emailDomains.push(...domains);
  }
  return { emailDomains: [...new Set(emailDomains)], others };
}
