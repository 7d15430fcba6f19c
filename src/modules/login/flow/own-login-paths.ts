import type { OwnAnswer, OwnPathRequest, OwnPathSite, OwnPaths } from '../../contract/serves-paths.ts';
import type { LoginRuntime } from '../login-runtime.ts';
import { jsonAnswer } from '../pages/page.ts';
import { backChannelLogout } from './back-channel-logout.ts';
import { finishLogin } from './finish-login.ts';
import { failed } from './login-failures.ts';
import { LOGGED_OUT_PATH, loggedOut, logOut } from './logout.ts';
import { LOGIN_PATH } from './return-target.ts';
import { CALLBACK_PATH, startLogin } from './start-login.ts';

type Serve = (
  runtime: LoginRuntime,
  request: OwnPathRequest,
  site: OwnPathSite,
  query: URLSearchParams,
) => OwnAnswer | Promise<OwnAnswer>;

/** `<method> <path>` → handler. HEAD is handled like GET. */
const SERVED: Readonly<Record<string, Serve>> = {
  [`GET ${LOGIN_PATH}`]: startLogin,
  [`GET ${CALLBACK_PATH}`]: finishLogin,
  'GET /.postern/logout': logOut,
  'POST /.postern/logout': logOut,
  [`GET ${LOGGED_OUT_PATH}`]: loggedOut,
  'POST /.postern/backchannel-logout': backChannelLogout,
  'GET /.postern/jwks.json': (runtime) =>
    jsonAnswer(200, runtime.signer.publicKeys(), ['access-control-allow-origin', '*']),
};

export const LOGIN_PATHS: readonly string[] = [
  ...new Set(Object.keys(SERVED).map((served) => served.slice(served.indexOf('/')))),
];

export class OwnLoginPaths implements OwnPaths {
  readonly #runtime: LoginRuntime;

  constructor(runtime: LoginRuntime) {
    this.#runtime = runtime;
  }

  serve(request: OwnPathRequest, site: OwnPathSite): OwnAnswer | Promise<OwnAnswer> {
    const method = request.method === 'HEAD' ? 'GET' : request.method;
    const serve = Object.hasOwn(SERVED, `${method} ${request.path}`) ? SERVED[`${method} ${request.path}`] : undefined;
    if (serve === undefined) {
      return failed(
        'ERR_POSTERN_NO_OWN_PATH',
        'no_own_path',
        'This page does not exist. Paths under /.postern/ are reserved for the login of this site.',
      );
    }
    const at = request.target.indexOf('?');
    const query = new URLSearchParams(at === -1 ? '' : request.target.slice(at + 1));
    const answer = serve(this.#runtime, request, site, query);
    return answer instanceof Promise
      ? answer.catch((error: unknown) => this.#runtime.storeUnavailable(request, error))
      : answer;
  }
}
