import type {
  AgentStatus,
  AgentTunnel,
  CommandEvent,
  NodesEvent,
  StatusEvent,
  UnboundEvent,
} from '../../../tunnel/agent/handle.ts';
import { printable } from '../output/cell-text.ts';

/** Advice for refusals whose message is not written for a command line. */
const ADVICE: Readonly<Record<string, string>> = {
  ERR_POSTERN_AGENT_TOKEN:
    'set the right one in POSTERN_AUTHTOKEN, with --authtoken-file, or as authtoken in the configuration file',
  ERR_POSTERN_AGENT_REVOKED:
    'create a new one with "postern api credentials create" and set it in POSTERN_AUTHTOKEN, with --authtoken-file, or in the configuration file',
};
/** The server's operator ended the agent. */
export const STOPPED_BY_SERVER = 'ERR_POSTERN_AGENT_STOPPED';
/** Each tunnel has already reported its own reason. */
export const ALL_REFUSED = 'ERR_POSTERN_TUNNEL_REFUSED';

/** The text comes from the server: it must not control the terminal. */
export function refusalText(message: string, code: string | null): string {
  const advice = code !== null && Object.hasOwn(ADVICE, code) ? ADVICE[code] : undefined;
  return `${printable(message).replace(/\.$/, '')}${advice === undefined ? '' : `; ${advice}`}`;
}

export interface StatusHistory {
  readonly wasOnline: boolean;
  readonly last: AgentStatus | null;
}

export function statusText(
  { status, reason, code, nextTryMs, region }: StatusEvent,
  serverAddr: string,
  before: StatusHistory = { wasOnline: false, last: null },
): string {
  const where = region === null ? '' : `, region ${printable(region)}`;
  const again = nextTryMs === null ? '' : `; retrying ${inTime(nextTryMs)}`;
  switch (status) {
    case 'connecting':
      return reason === null ? `connecting to ${serverAddr}` : `not connected: ${refusalText(reason, code)}${again}`;
    case 'online':
      return `${before.wasOnline ? 'online again' : 'online'} at ${serverAddr}${where}`;
    case 'reconnecting':
      return `${before.last === 'reconnecting' ? 'still disconnected' : 'disconnected'}: ${refusalText(reason ?? 'the connection ended', code)}${again}`;
    case 'stopped':
      if (reason === null) return 'stopped';
      return code === ALL_REFUSED ? 'stopped: no tunnels left' : `stopped: ${refusalText(reason, code)}`;
  }
}

export function inTime(ms: number): string {
  return ms < 1000 ? 'now' : `in ${Math.round(ms / 1000)} s`;
}

/** The public address of a tunnel. */
export function publicName({ publicUrl, labels, proto }: AgentTunnel): string {
  if (labels !== null) return labelsText(labels);
  return publicUrl === null ? `${proto ?? ''} (no address yet)`.trim() : printable(publicUrl);
}

export function labelsText(labels: Readonly<Record<string, string>>): string {
  return Object.entries(labels)
    .map(([name, value]) => printable(`${name}=${value}`))
    .join(',');
}

export function unboundText({ message, code, retry }: UnboundEvent): string {
  return `${retry ? 'rejected for now' : 'rejected'}: ${refusalText(message, code)}${retry ? '; retrying' : ''}`;
}

export function commandText({ command, isAccepted }: CommandEvent): string {
  if (!isAccepted) return `rejected the server's request to ${command}: remote management is off`;
  if (command === 'update')
    return 'the server asked this agent to update: install a new version of postern and restart it';
  return `the server asked this agent to ${command}`;
}

export function nodesText({ nodes }: Pick<NodesEvent, 'nodes'>): string {
  const names = nodes.map(({ name }) => printable(name)).join(', ');
  if (nodes.length === 0) return 'connected to no node';
  return nodes.length === 1 ? `connected to node ${names} only` : `connected to nodes ${names}`;
}

export function durationText(ms: number): string {
  return ms < 10_000 ? `${Math.round(ms)} ms` : `${Math.round(ms / 1000)} s`;
}
