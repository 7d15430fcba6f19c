import type { SharedRuntime } from '../contract/keeps-state.ts';
import { SIGNING_KEY_KIND } from './assertion-signer.ts';
import { loginErrors } from './errors.ts';
import { LOGIN_PATHS } from './flow/login-flow.ts';
import { LoginRuntime } from './login-runtime.ts';
import { loginSettings } from './settings.ts';

/** Logins, shared by all modules that log people in or judge them. */
export const login: SharedRuntime<LoginRuntime> = {
  name: 'login',
  settings: loginSettings,
  readsSettings: ['identity_host'],
  errors: { title: 'Traffic: login', rows: loginErrors.rows },
  // Upstreams made for ngrok's edges trust its names.
  reservedHeaders: ['postern-auth-*', 'ngrok-auth-*'],
  // Cookies of another cookie_prefix are reserved by the edge that has it.
  reservedCookies: ['postern.session', '__host-postern.session', '__host-postern-*'],
  ownPaths: LOGIN_PATHS,
  recordKinds: [SIGNING_KEY_KIND],
  open: (ports, settings) => LoginRuntime.open(ports, settings),
};
