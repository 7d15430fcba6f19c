import { domainToASCII } from 'node:url';
import { usage } from '../../lib/flags.ts';
import { hostNameProblem, lowerCaseHost } from '../../lib/net/host-name.ts';
import { readTarget } from '../../publish/read-target.ts';
import type { WantedEdge, WantedTarget } from '../../publish/wanted-edge.ts';
import { isId } from '../names/is-id.ts';

const HOST = /^(?<host>(?:\*\.)?[\w-]+(?:\.[\w-]+)*\.?)(?::(?<port>\d{1,5}))?(?<path>\/\S*)?$/;

const VERB = /^(?:add|create|delete|get|list|ls|new|publish|remove|rm|show|update)$/;

/** The one argument: `app.example.com`, `app.example.com:7443`, `app.example.com/admin`. The flags are those of the command line. */
export function parseSite(
  positionals: readonly string[],
  command: 'edge' | 'up' | 'down',
  flags: ReadonlyMap<string, string> = new Map(),
): Pick<WantedEdge, 'host' | 'port' | 'path'> {
  const [text = '', ...others] = positionals;
  // A verb is not meant as a host: no public name has one label.
  if (VERB.test(text)) {
    const target = command === 'down' ? '' : ' --to 3000';
    throw usage(
      `postern ${command} takes a host and no "${text}": postern ${command} app.example.com${target}. "postern api https-edges --help" lists the single steps`,
    );
  }
  // The message repeats no argument: it may be the password.
  if (others.length === 1 && flags.has('password'))
    throw usage(
      `the command asks for the password on the terminal: nothing may follow --password, and other users of the machine can read an argument. --password-file FILE takes it from a file`,
    );
  if (text === '' || others.length > 0) {
    const target = command === 'down' ? '' : ' --to 127.0.0.1:3000';
    throw usage(`postern ${command} takes one host: postern ${command} app.example.com${target}`);
  }
  const { host, port, path } = HOST.exec(text.replace(/^https?:\/\//, ''))?.groups ?? {};
  if (host === undefined) {
    const ascii = domainToASCII(text);
    throw usage(
      /[^\0-\x7f]/.test(text) && ascii !== ''
        ? `the host has letters outside of ASCII: write ${ascii}`
        : `${JSON.stringify(text)} is no host: write it in the form app.example.com, app.example.com:7443 or app.example.com/path`,
    );
  }
  const name = lowerCaseHost(host).replace(/\.$/, '');
  const problem = hostNameProblem(name, 'allowed');
  if (problem !== null) throw usage(`the host ${problem}`);
  return {
    host: name,
    port: port === undefined ? null : Number(port),
    path: path ?? '/',
  };
}

/** `127.0.0.1:3000`, `3000`, `http://web:8080`, `https://web`, or the id of a backend. */
export function parseTarget(text: string | undefined): WantedTarget {
  if (text === undefined) throw usage('--to is required: --to 127.0.0.1:3000');
  if (isId(text)) return { kind: 'backend', id: text };
  const port = /^(?:.*:)?(\d+)\/?$/.exec(text)?.[1];
  if (port !== undefined && (Number(port) < 1 || Number(port) > 65_535))
    throw usage(`--to ${text}: ${port} is no port. Ports go from 1 to 65535`);
  const target = readTarget(text);
  if (target === null) {
    throw usage(
      `--to ${JSON.stringify(text)} is no address: --to takes host:port, a port, http://host:port, https://host:port or the id of a backend`,
    );
  }
  return target;
}
