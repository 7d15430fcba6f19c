import { isIPv6 } from 'node:net';
import { basename, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { formatListenAddress, parseListenAddress } from '../../../kit/net/listen-address.ts';
import { AgentError } from '../errors.ts';

/** Address of a local service. */
export interface LocalAddress {
  readonly scheme: 'http' | 'https' | 'h2c' | 'tcp' | 'file';
  readonly host: string;
  readonly port: number;
  /** `host:port`, for display. */
  readonly hostport: string;
  /** The Host that a direct client would send. */
  readonly authority: string;
  /** The form that the server receives. */
  readonly text: string;
  /** Absolute; absent: it is no folder. */
  readonly folder?: string;
}

const DEFAULT_PORTS = { http: 80, https: 443, h2c: 80, tcp: 0, file: 0 } as const;
const FILE_FORM = /^file:\/\/\/[^?#]*$/i;
const URL_FORM = /^(http|https|h2c|tcp):\/\/([^/?#]*)(\/?)$/i;

/** `8080`, `host:port`, or a URL with scheme, host and perhaps a port, or of a folder. Throws `AgentError`. */
export function parseLocalAddress(given: string | number, proto: 'http' | 'tcp'): LocalAddress {
  const text = String(given).trim();
  if (/^\d+$/.test(text)) return localAddress(proto, 'localhost', Number(text), text);
  if (proto === 'http' && FILE_FORM.test(text)) return folderAddress(text);
  const url = URL_FORM.exec(text);
  if (url !== null) {
    const scheme = (url[1] as string).toLowerCase() as LocalAddress['scheme'];
    const hostport = hostAndPort(url[2] as string, DEFAULT_PORTS[scheme]);
    if (hostport === null || (scheme === 'tcp' && url[3] === '/')) throw bad(text);
    return localAddress(scheme, hostport.host, hostport.port, text);
  }
  if (/^[a-z][a-z0-9+.-]*:\/\//i.test(text)) {
    const message = `the address "${text}" is invalid: use a URL with http, https, h2c or tcp, a host, an optional port, and no path`;
    throw new AgentError('ERR_POSTERN_AGENT_ADDRESS', message);
  }
  const hostport = hostAndPort(text, 0);
  if (hostport === null) throw bad(text);
  return localAddress(proto, hostport.host, hostport.port, text);
}

/** Visitors see the name of the folder in errors, and not its path. */
function folderAddress(text: string): LocalAddress {
  try {
    const folder = resolve(fileURLToPath(text));
    const hostport = encodeURIComponent(basename(folder));
    const { href } = pathToFileURL(folder);
    return { scheme: 'file', host: '', port: 0, hostport, authority: 'localhost', text: href, folder };
  } catch {
    throw bad(text);
  }
}

function hostAndPort(text: string, defaultPort: number) {
  const withPort = /:\d+$/.test(text) && !isIPv6(text) ? text : `${text}:${defaultPort}`;
  return parseListenAddress(withPort);
}

function localAddress(scheme: LocalAddress['scheme'], host: string, port: number, text: string): LocalAddress {
  if (port < 1 || port > 65_535) throw bad(text);
  const hostport = formatListenAddress({ host, port });
  const authority =
    port === DEFAULT_PORTS[scheme] ? formatListenAddress({ host, port }).slice(0, -`:${port}`.length) : hostport;
  return { scheme, host, port, hostport, authority, text: scheme === 'tcp' ? hostport : `${scheme}://${hostport}` };
}

function bad(text: string): AgentError {
  const message = `the address "${text}" is invalid: use a port, host:port, or a URL such as http://localhost:8080`;
  return new AgentError('ERR_POSTERN_AGENT_ADDRESS', message);
}
