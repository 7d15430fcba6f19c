import type { UpstreamFailure } from '../../upstream/upstream.ts';

/** The agent's own process is at its limit; its service may be fine. */
export const OUT_OF_FILES = 'agent_out_of_files';

/** The service ended the connection before it had read the body of the request. */
const UNREAD = 'unread';

/** Reasons that an agent may report, with a description for people. */
const WORDS: Readonly<Record<string, string>> = {
  refused: 'the connection was refused',
  timeout: 'it did not respond in time',
  dns: 'its name does not resolve',
  tls: 'its TLS certificate or handshake was rejected',
  [OUT_OF_FILES]: 'the agent has no file descriptors left',
  unanswered: 'it accepted the request but did not respond in time',
  protocol: 'its response does not follow the protocol',
  headers_too_large: 'the headers of its response are too large to forward',
  [UNREAD]: 'the connection was closed before it had read the request',
  closed: 'the connection was closed before the response',
};
/** In these cases the service did not receive the request, and another may. */
const IS_UNSENT: ReadonlySet<string> = new Set(['refused', 'timeout', 'dns', 'tls', OUT_OF_FILES]);
const MAX_ADDRESS_LENGTH = 255;

/**
 * Interprets an agent's report about its service. An agent is a foreign program: its report is displayed but not
 * trusted.
 */
export function agentFailure(reason: string, address: string | undefined): UpstreamFailure {
  const known = knownReason(reason);
  const mayHaveBeenSent = !IS_UNSENT.has(known);
  const agentAddress = readableAddress(address);
  return {
    phase: mayHaveBeenSent ? 'send' : 'connect',
    reason: known,
    message: `the agent could not reach ${agentAddress}: ${reasonText(known)}`,
    mayHaveBeenSent,
    agentAddress,
    isUnread: known === UNREAD,
  };
}

/** It becomes a metrics label: an agent must not be able to create a series per invented value. */
export function knownReason(reason: string): string {
  return Object.hasOwn(WORDS, reason) ? reason : 'failed';
}

export function reasonText(reason: string): string {
  return (Object.hasOwn(WORDS, reason) ? WORDS[reason] : undefined) ?? 'it failed';
}

function readableAddress(address: string | undefined): string {
  const visible = address?.replaceAll(/[^\x21-\x7e]/g, '').slice(0, MAX_ADDRESS_LENGTH);
  return visible === undefined || visible === '' ? 'its service' : visible;
}
