import type { Permit, Verdict } from '../../../src/modules/contract/decides.ts';
import type { Module } from '../../../src/modules/contract/module.ts';
import type { OwnAnswer, OwnPathSite, PreparedModule } from '../../../src/modules/contract/prepared-module.ts';
import { admissionSteps } from '../../../src/proxy/snapshot/compile-edge.ts';
import type { NamedModule, RouteSnapshot } from '../../../src/proxy/snapshot/edge-snapshot.ts';

/** What a module does: it passes, refuses or throws, at once (capital letter) or later; `n` never decides. */
export type Script = 'P' | 'R' | 'T' | 'p' | 'r' | 't' | 'n';
export const SCRIPTS: readonly Script[] = ['P', 'R', 'T', 'p', 'r', 't', 'n'];

/** In the order in which a request is asked: an address rule, a token, a login, the rules of access. */
export const STEPS = ['address', 'token', 'login', 'rules'] as const;
export type Step = (typeof STEPS)[number];
export type Scripts = Readonly<Record<Step, Script>>;
export const ALL_PASS: Scripts = { address: 'P', token: 'P', login: 'P', rules: 'P' };

export const LOGIN_PATH = '/.postern/login';
export const GUEST_PATH = '/.postern/guest';

/** Declarations as in the registry, which decide where each is asked. */
export const MODULES = [
  { name: 'first', decidesAccess: true },
  { name: 'login', decidesAccess: true, isLogin: true },
  { name: 'access', decidesAccess: true },
] as unknown as readonly Module[];

/** Every combination of what the four steps do. */
export function combinations(): Scripts[] {
  let all: Script[][] = [[]];
  for (const _ of STEPS) all = all.flatMap((some) => SCRIPTS.map((script) => [...some, script]));
  return all.map(([address = 'P', token = 'P', login = 'P', rules = 'P']) => ({ address, token, login, rules }));
}

/** Three modules as those of the registry are asked, in four steps that do what the test says. */
export class ScriptedRoute {
  readonly snapshot: RouteSnapshot;
  scripts: Scripts;
  asked: Step[] = [];
  /** Who passes the login. */
  readonly user = { id: 'ann', version: 1 };
  serve: (site: OwnPathSite) => OwnAnswer = () => ({ status: 200, headers: [], body: 'own' });

  constructor(scripts: Scripts, withOwnPaths = true) {
    this.scripts = scripts;
    const ownPaths = { serve: (_request: unknown, site: OwnPathSite) => this.serve(site) };
    const login: PreparedModule = {
      judge: (request) => this.#verdict('login', () => Object.assign(request, { permit: this.#permit(this.user.id) })),
      assume: (request, { email }) =>
        this.#verdict('login', () => Object.assign(request, { permit: this.#permit(email) })),
      ...(withOwnPaths && { ownPaths }),
    };
    const modules: NamedModule[] = [
      { name: 'first', prepared: { judge: () => this.#verdict('address') } },
      { name: 'login', prepared: login, ...(withOwnPaths && { ownPaths: [LOGIN_PATH] }) },
      {
        name: 'access',
        prepared: {
          identify: () => this.#verdict('token'),
          judge: () => this.#verdict('rules'),
          ...(withOwnPaths && { ownPaths }),
        },
        ...(withOwnPaths && { ownPaths: [GUEST_PATH] }),
      },
    ];
    this.snapshot = {
      id: 'edghtsrt_1',
      edgeId: 'edghts_1',
      problem: null,
      modules,
      ...admissionSteps(modules, MODULES),
      requestChangers: [],
      responseChangers: [],
      outcomeListeners: [],
      backend: null,
      ownCookieNames: new Set(),
    } as unknown as RouteSnapshot;
  }

  /** The scripts, with `*` for a step that was not asked, and a number after one that was asked several times. */
  get pattern(): string {
    const times = (step: Step): number => this.asked.filter((each) => each === step).length;
    const mark = (step: Step): string => `${this.scripts[step]}${times(step) > 1 ? times(step) : ''}`;
    return STEPS.map((step) => (times(step) === 0 ? '*' : mark(step))).join('');
  }

  #verdict(step: Step, onPass: () => void = () => {}): Verdict | Promise<Verdict> {
    this.asked.push(step);
    const script = this.scripts[step];
    const decide = (): Verdict => {
      if (script === 'T' || script === 't') throw new Error(`${step} has a bug`);
      if (script === 'R' || script === 'r')
        return { status: 403, code: 'ERR_POSTERN_LOGIN_DENIED', message: 'no', reason: step };
      onPass();
      return { isPass: true, reason: step };
    };
    if (script === 'n') return new Promise(() => {});
    if ('PRT'.includes(script)) return decide();
    return new Promise(setImmediate).then(decide);
  }

  #permit(id: string): Permit {
    const { user } = this;
    return {
      userId: id,
      module: 'login',
      identity: { kind: 'user', id, email: '', isEmailVerified: false, name: '', claims: {}, droppedClaims: [] },
      get version() {
        return user.version;
      },
      isHeld: () => true,
      touch() {},
    };
  }
}
