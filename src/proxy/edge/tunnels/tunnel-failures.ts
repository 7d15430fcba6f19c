import type { UpstreamFailure } from '../../upstream/upstream.ts';
import type { ErrorAnswer } from '../answers/error-page.ts';
import { edgeErrors } from '../errors.ts';

const code = 'ERR_POSTERN_NO_TUNNEL';
const { status } = edgeErrors.rows[code];

/** A tunnel group without members. */
export const NO_TUNNEL: ErrorAnswer = {
  status,
  code,
  message: 'No tunnel is online for this site. Its operator must start an agent.',
};

/** An endpoint of an agent, on a node that may not serve names of agents now. */
export const NODE_ISOLATED: ErrorAnswer = {
  status: edgeErrors.rows.ERR_POSTERN_NODE_ISOLATED.status,
  code: 'ERR_POSTERN_NODE_ISOLATED',
  message: 'This server is cut off from the others and cannot tell who serves this site. Try again in a moment.',
};

const FULL = 'ERR_POSTERN_TUNNEL_FULL';

/** The agent is online, and has no stream left for another request. */
export const TUNNEL_FULL: ErrorAnswer = {
  status: edgeErrors.rows[FULL].status,
  code: FULL,
  message: 'The agent that serves this site has as many requests in progress as it can. Try again in a moment.',
  headers: ['retry-after', '1'],
};

/** The rest of its streams is for others. */
export const TUNNEL_SHARE: ErrorAnswer = {
  ...TUNNEL_FULL,
  message:
    'Your network address has so many requests to this site in progress that the rest is left to others. Close some, or try again in a moment.',
};

/** An endpoint whose agent is offline. */
export const AGENT_OFFLINE: ErrorAnswer = {
  status,
  code,
  message:
    'The agent that serves this site is offline. It reconnects automatically if it is running; otherwise its operator must start it.',
};

/** The agent's own process is at its limit; its service may be fine. */
export const OUT_OF_FILES = 'agent_out_of_files';

/** The agent serves a folder, and cannot open it. */
export const NO_FOLDER = 'no_folder';

/** The service ended the connection before it had read the body of the request. */
const UNREAD = 'unread';

/** Reasons that an agent may report, with a description for people. */
const WORDS: Readonly<Record<string, string>> = {
  refused: 'the connection was refused',
  timeout: 'it did not respond in time',
  dns: 'its name does not resolve',
  tls: 'its TLS certificate or handshake was rejected',
  [OUT_OF_FILES]: 'the agent has no file descriptors left',
  [NO_FOLDER]: 'the folder cannot be opened',
  unanswered: 'it accepted the request but did not respond in time',
  protocol: 'its response does not follow the protocol',
  headers_too_large: 'the headers of its response are too large to forward',
  [UNREAD]: 'the connection was closed before it had read the request',
  closed: 'the connection was closed before the response',
};
/** In these cases the service did not receive the request, and another may. */
const IS_UNSENT: ReadonlySet<string> = new Set(['refused', 'timeout', 'dns', 'tls', OUT_OF_FILES, NO_FOLDER]);
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

/** The reason becomes a metrics label: an agent must not be able to create a series per invented value. */
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
