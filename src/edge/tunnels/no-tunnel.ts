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
