import { errorTable } from '../../kit/errors.ts';

/** Errors that every module shares; a module's own are in its folder. */
export const moduleErrors = errorTable({
  ERR_POSTERN_MODULE_UNAVAILABLE: {
    status: 503,
    explanation:
      'A module of the route is enabled but cannot be applied, so the route rejects all traffic. The API, the metrics and the log name the module and the cause.',
  },
});
