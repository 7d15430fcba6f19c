import type { ErrorAnswer } from '../error-page.ts';
import { edgeErrors } from '../errors.ts';

const code = 'ERR_POSTERN_NO_TUNNEL';
const { status } = edgeErrors.rows[code];

/** A tunnel group without members. */
export const NO_TUNNEL: ErrorAnswer = {
  status,
  code,
  message: 'No tunnel is online for this site. Its operator must start an agent.',
};

/** An endpoint whose agent is offline. */
export const AGENT_OFFLINE: ErrorAnswer = {
  status,
  code,
  message:
    'The agent that serves this site is offline. It reconnects automatically if it is running; otherwise its operator must start it.',
};
