import { labelsProblem } from '../lib/text/labels.ts';
import type { Bind } from '../tunnel/messages.ts';
import { MAX_TUNNELS_PER_SESSION } from '../tunnel/protocol.ts';
import type { AgentSession } from './agent-session.ts';
import type { BoundTunnel } from './bound-tunnel.ts';
import type { ReservedTunnel } from './nodes/session-record.ts';
import type { BindRefusal } from './tunnel-binder.ts';

/** Also by the agent's own number: it requests a tunnel again when the response was lost with a connection. */
export function knownTunnel(session: AgentSession, bind: Bind): BoundTunnel | undefined {
  const byId = bind.id === undefined ? undefined : session.tunnels.get(bind.id);
  return byId ?? session.tunnels.values().find((tunnel) => tunnel.ref === bind.ref);
}

/** The tunnel that it was on a node that is gone: it gets the same ids and name again. */
export function takeReserved(session: AgentSession, bind: Bind): ReservedTunnel | null {
  const byId = bind.id === undefined ? undefined : session.reserved.get(bind.id);
  const found = byId ?? session.reserved.values().find(({ ref }) => ref === bind.ref);
  if (found === undefined) return null;
  const isSame =
    found.proto === (bind.proto ?? null) &&
    JSON.stringify(found.labels) === JSON.stringify(bind.labels ?? null) &&
    (bind.port === undefined || bind.port === found.port) &&
    (bind.domain === undefined || bind.domain === '' || isHostOf(found.host, bind.domain.toLowerCase()));
  if (!isSame) return null;
  session.reserved.delete(found.id);
  return found;
}

export function bindProblem(session: AgentSession, bind: Bind): BindRefusal | null {
  const invalid = (message: string): BindRefusal => ({ code: 'ERR_POSTERN_TUNNEL_INVALID', message, retry: false });
  if (session.tunnels.size >= MAX_TUNNELS_PER_SESSION) {
    const message = `an agent may have at most ${MAX_TUNNELS_PER_SESSION} tunnels: start another agent for more`;
    return { code: 'ERR_POSTERN_TUNNEL_LIMIT', message, retry: false };
  }
  if ((bind.labels === undefined) === (bind.proto === undefined)) {
    return invalid('a tunnel has either a protocol or labels');
  }
  if (bind.labels !== undefined) {
    if (Object.keys(bind.labels).length === 0) return invalid('a tunnel with labels requires at least one label');
    const problem = labelsProblem(bind.labels);
    if (problem !== null) return invalid(`the tunnel ${problem}`);
    if (bind.domain !== undefined || bind.port !== undefined || bind.modules !== undefined) {
      return invalid('a tunnel with labels has no domain, port or modules of its own: configure them on its edge');
    }
    return null;
  }
  if (bind.proto === 'tcp' && bind.domain !== undefined) return invalid('a tcp tunnel has a port and no domain');
  if (bind.proto !== 'tcp' && bind.port !== undefined) return invalid('only a tcp tunnel can request a port');
  return null;
}

/** `domain` is a full name, or the first label of one. */
function isHostOf(host: string | null, domain: string): boolean {
  return host !== null && (host === domain || host.startsWith(`${domain}.`));
}
