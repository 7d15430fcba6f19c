import { moduleErrors } from '../../modules/contract/errors.ts';
import type { RouteSnapshot } from '../../snapshot/edge-snapshot.ts';
import type { ErrorAnswer } from '../answers/error-page.ts';

/** For a route with an enabled module that cannot be applied. */
export function unpreparedModule({ module, code }: NonNullable<RouteSnapshot['problem']>): ErrorAnswer {
  const { status } = moduleErrors.rows.ERR_POSTERN_MODULE_UNAVAILABLE;
  const message = `This site cannot be served: its ${module} module is enabled but cannot be applied. The log of the server has the reason.`;
  return { status, code, message };
}
