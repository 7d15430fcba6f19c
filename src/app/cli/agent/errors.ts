import { errorTable } from '../../../kit/errors.ts';

export const agentCommandErrors = errorTable({
  ERR_POSTERN_AGENT_CONFIG: {
    status: 400,
    explanation:
      "The agent's configuration file cannot be read or has an invalid line, which the message names. `postern config check` lists all errors. The agent did not start.",
  },
});
