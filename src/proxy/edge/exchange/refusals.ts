import type { CanonicalPath } from '../../../kit/http/canonical-path.ts';
import { moduleErrors } from '../../../modules/contract/errors.ts';
import type { RouteSnapshot } from '../../snapshot/edge-snapshot.ts';
import type { Unmatched } from '../../snapshot/route-table.ts';
import type { ErrorAnswer } from '../answers/error-page.ts';
import type { EdgeErrorCode } from '../errors.ts';

type OwnRefusal = readonly [code: EdgeErrorCode, reason: string, message: string];

export const MISDIRECTED: OwnRefusal = [
  'ERR_POSTERN_MISDIRECTED',
  'misdirected',
  'This connection was opened for another host. Try again on a new connection.',
];

export const STALE_CONNECTION: OwnRefusal = [
  'ERR_POSTERN_MISDIRECTED',
  'stale_connection',
  'The requirements of this site for connections have changed. Open a new connection.',
];

/** For a route with an enabled module that cannot be applied. */
export function unpreparedModule({ module, code }: NonNullable<RouteSnapshot['problem']>): ErrorAnswer {
  const { status } = moduleErrors.rows.ERR_POSTERN_MODULE_UNAVAILABLE;
  const message = `This site cannot be served: its ${module} module is enabled but cannot be applied. The log of the server has the reason.`;
  return { status, code, message };
}

type Refusing = readonly [code: EdgeErrorCode, reason: string, message: string];

/** There is no page: also for a path of the edge itself that no module serves. */
export const NO_PAGE: Refusing = ['ERR_POSTERN_NO_ROUTE', 'no_route', 'There is no page at this address.'];

/** The program serves every path of its own hosts itself. */
export function oddOnOwnHost(odd: string): Refusing {
  return strict(odd);
}

/** Why no route serves a path: code, log value, message for the visitor. */
export function unmatched({ reason }: Unmatched, { odd }: CanonicalPath): Refusing {
  switch (reason) {
    case 'none':
      return NO_PAGE;
    case 'strict':
      return strict(odd ?? '');
    case 'ambiguous':
      return [
        'ERR_POSTERN_BAD_PATH',
        'ambiguous_path',
        odd === null
          ? 'The path is ambiguous. Remove escaped slashes and path parameters.'
          : `The path is ambiguous, because ${odd}.`,
      ];
    case 'other_access':
      return [
        'ERR_POSTERN_BAD_PATH',
        'ambiguous_access',
        'The path is similar to a path of this site with different access rules. Check upper and lower case, the trailing slash and escapes.',
      ];
  }
}

function strict(odd: string): Refusing {
  return ['ERR_POSTERN_BAD_PATH', 'strict_path', `The request was rejected: ${odd}.`];
}
