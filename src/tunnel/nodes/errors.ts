import { errorTable } from '../../kit/errors.ts';

export const nodeErrors = errorTable({
  ERR_POSTERN_NODE_DIFFERS: {
    status: 503,
    explanation:
      'A node cannot join the others on its database, because a setting that must be equal on all nodes differs. The message names the setting and both values.',
  },
});
