import { usage } from '../../lib/flags.ts';
import { isId } from '../names/is-id.ts';
import type { WantedLogin } from './edge-login.ts';
import type { WantedPeople } from './edge-people.ts';

/** What `postern edge` is to make. */
export interface WantedEdge extends WantedPeople {
  readonly host: string;
  /** Null: as it is, or that of the listener for a new edge. */
  readonly port: number | null;
  readonly listenerPort: number;
  readonly path: string;
  readonly target: WantedTarget;
  readonly login: WantedLogin | null;
}

export type WantedTarget =
  | { readonly kind: 'address'; readonly address: string; readonly hasTls: boolean }
  | { readonly kind: 'backend'; readonly id: string };

const HOST = /^(?<host>(?:\*\.)?[\w-]+(?:\.[\w-]+)*\.?)(?::(?<port>\d{1,5}))?(?<path>\/\S*)?$/;

/** The one argument: `app.example.com`, `app.example.com:7443`, `app.example.com/admin`. */
export function parseSite(
  positionals: readonly string[],
  command: 'edge' | 'up' | 'down',
): Pick<WantedEdge, 'host' | 'port' | 'path'> {
  const [text = '', ...others] = positionals;
  if (text === '' || others.length > 0) {
    const target = command === 'down' ? '' : ' --to 127.0.0.1:3000';
    throw usage(`postern ${command} takes one host: postern ${command} app.example.com${target}`);
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
