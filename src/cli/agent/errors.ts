import { errorTable } from '../../lib/errors.ts';

export const agentCommandErrors = errorTable({
  ERR_POSTERN_AGENT_CONFIG: {
    status: 400,
    explanation:
      "The agent's configuration file cannot be read, or a line of it is wrong; the message has the line. `postern config check` lists everything that is wrong. Nothing was started.",
  },
});
