import { hostNameProblem } from '../../../../kit/net/host-name.ts';
import { parseListenAddress } from '../../../../kit/net/listen-address.ts';
import { labelsProblem } from '../../../../kit/text/labels.ts';
import type { CommandForm } from '../../../../modules/agent-modules.ts';
import { AgentError } from '../../../../tunnel/agent/errors.ts';
import { parseLocalAddress } from '../../../../tunnel/agent/local/local-address.ts';
import { goesWith, moduleForms, writtenKey } from '../module-forms.ts';
import type { FilesConfig, TunnelConfig } from './agent-config.ts';

/** Properties of a tunnel, by their key in the file; flags have the same names in their own spelling. */
type OwnKey = 'addr' | 'proto' | 'labels' | 'schemes' | 'domain' | 'remote_port' | 'host_header' | 'upstream_tls';
/** Modules add their own. */
export type TunnelKey = OwnKey | (string & {});

interface TunnelProblem {
  readonly key: TunnelKey;
  readonly message: string;
}

interface Rule {
  readonly key: TunnelKey;
  readonly isGiven: (tunnel: TunnelConfig) => boolean;
  /** The protocols it can be used with. */
  readonly goesWith: readonly ('http' | 'tcp' | 'tls' | 'labels')[];
  readonly why: string;
}

const PROTOS = ['http', 'tcp', 'tls'] as const;
const EDGE = 'a tunnel with labels is protected by the edges that serve it: configure their modules';
const RULES: readonly Rule[] = [
  {
    key: 'schemes',
    isGiven: (t) => t.schemes !== null,
    goesWith: ['http'],
    why: 'it sets the scheme of an http tunnel',
  },
  {
    key: 'domain',
    isGiven: (t) => t.domain !== null,
    goesWith: ['http', 'tls'],
    why: 'a tcp tunnel has a port, and a tunnel with labels uses the hosts of its edges',
  },
  {
    key: 'remote_port',
    isGiven: (t) => t.remotePort !== null,
    goesWith: ['tcp'],
    why: 'only tcp tunnels have a port of their own',
  },
  {
    key: 'host_header',
    isGiven: (t) => t.hostHeader !== null,
    goesWith: ['http', 'labels'],
    why: 'the agent forwards other protocols unchanged',
  },
];

const UPSTREAM_TLS: Rule = {
  key: 'upstream_tls',
  isGiven: (t) => t.upstreamTls !== null,
  goesWith: ['http', 'labels'],
  why: 'the agent forwards other protocols unchanged',
};

function moduleRule(form: CommandForm, { modules }: TunnelConfig): Rule {
  return {
    key: writtenKey(form, modules[form.module]),
    isGiven: ({ modules }) => form.module in modules,
    goesWith: PROTOS.filter((proto) => goesWith(form, proto)),
    why: form.unsupportedReason ?? EDGE,
  };
}

/** Combinations that are not allowed. `spell` names a key as its reader writes it. */
export function tunnelProblems(
  tunnel: TunnelConfig,
  spell: (key: TunnelKey) => string = (key) => key,
): readonly TunnelProblem[] {
  const problems: TunnelProblem[] = [];
  const kind = tunnel.labels === null ? tunnel.proto : 'labels';
  if (tunnel.labels !== null && tunnel.proto !== null) {
    problems.push({ key: 'labels', message: 'a tunnel has either proto or labels: remove one' });
  } else if (kind === null) {
    problems.push({ key: 'proto', message: 'proto is missing: write proto: http, tcp or tls, or labels' });
  } else {
    for (const { key, isGiven, goesWith, why } of [
      ...RULES,
      ...moduleForms().map((form) => moduleRule(form, tunnel)),
      UPSTREAM_TLS,
    ]) {
      if (isGiven(tunnel) && !goesWith.includes(kind)) {
        const what = kind === 'labels' ? 'labels' : `proto ${kind}`;
        problems.push({ key, message: `${spell(key)} cannot be used with ${what}: ${why}` });
      }
    }
  }
  if (tunnel.schemes?.includes('http') === true) {
    for (const form of moduleForms()) {
      const { module, protocols, tlsReason: why } = form;
      if (!(module in tunnel.modules) || protocols.includes('http')) continue;
      const key = writtenKey(form, tunnel.modules[module]);
      problems.push({ key, message: `${spell(key)} cannot be used with the scheme http: ${why}` });
    }
  }
  const address = addressProblem(tunnel);
  return address === null ? problems : [...problems, { key: 'addr', message: address }];
}

function addressProblem({ addr, proto, files }: TunnelConfig): string | null {
  if (files !== null) return filesProblem(files, addr, proto);
  try {
    const { scheme } = parseLocalAddress(addr, proto === 'tcp' || proto === 'tls' ? 'tcp' : 'http');
    const isRaw = proto === 'tcp' || proto === 'tls';
    if (isRaw && scheme !== 'tcp') return `a ${proto} tunnel forwards raw bytes: use a port or host:port`;
    if (!isRaw && scheme === 'tcp')
      return 'the scheme must be http, https or h2c: use a port, host:port or a URL with one of them';
    return null;
  } catch (error) {
    if (error instanceof AgentError) return error.message;
    throw error;
  }
}

function filesProblem({ folder }: FilesConfig, addr: string, proto: TunnelConfig['proto']): string | null {
  if (addr !== '') return 'a tunnel has either an address or a folder (files): remove one';
  if (proto === 'tcp' || proto === 'tls')
    return `a ${proto} tunnel forwards raw bytes, and a folder has none: use http`;
  return folder === '' ? 'files names no folder: write files: ./site' : null;
}

/** Each returns the problem with a text, phrased to follow its name, or null. */
export function domainProblem(text: string): string | null {
  if (hostNameProblem(text, 'refused') === null) return null;
  const advice =
    text.startsWith('*.') && hostNameProblem(text, 'allowed') === null
      ? `. For a wildcard, publish it at the server: postern edge '${text}' --to BACKEND, where BACKEND is a group of tunnels`
      : '';
  return `must be a host name without a port or wildcard, such as app.example.com${advice}`;
}

export function hostHeaderProblem(text: string): string | null {
  const isHost = parseListenAddress(/:\d+$/.test(text) ? text : `${text}:1`) !== null;
  return isHost ? null : 'must be preserve, rewrite, or a host with an optional port';
}

export function labelProblem(text: string): string | null {
  const [name, value] = splitLabel(text);
  return labelsProblem({ [name]: value }) === null ? null : 'must be NAME=VALUE, such as app=web';
}

export function splitLabel(text: string): readonly [name: string, value: string] {
  const at = text.indexOf('=');
  return at === -1 ? [text, ''] : [text.slice(0, at), text.slice(at + 1)];
}

const MAX_METADATA = 4096;
const MAX_TOKEN = 256;

/** Each returns the problem with a text, phrased to follow its name, or null. */
export function tokenProblem(text: string): string | null {
  return text.length <= MAX_TOKEN && /^[\x21-\x7e]+$/.test(text)
    ? null
    : `must be 1 to ${MAX_TOKEN} visible ASCII characters on one line`;
}

export function metadataProblem(text: string): string | null {
  return text.length <= MAX_METADATA ? null : `must have at most ${MAX_METADATA} characters`;
}

export function nameProblem(text: string): string | null {
  return /^[\p{L}\p{N}][\p{L}\p{N} ._-]{0,63}$/u.test(text)
    ? null
    : 'must be 1 to 64 letters, digits, spaces, dots, hyphens and underscores, and start with a letter or digit';
}

const MAX_ITEM = 255;

/** Each returns the problem with one item of a list of people, phrased to follow its name, or null. */
export function groupProblem(text: string): string | null {
  return text.length > 0 && text.length <= MAX_ITEM && text.trim() === text && !/[\p{Cc}\p{Cf}]/u.test(text)
    ? null
    : `must be a group of 1 to ${MAX_ITEM} characters`;
}

export function emailProblem(text: string): string | null {
  return groupProblem(text) === null && /^[^@\s,]+@[^@\s,]+$/.test(text)
    ? null
    : 'must be an address such as ana@example.com';
}
