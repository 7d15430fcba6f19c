import type { Module } from '../../modules/contract/module.ts';
import type { PreparedModule } from '../../modules/contract/prepared-module.ts';
import type { AdmissionStep, ModuleWith, NamedModule, RouteSnapshot } from './edge-snapshot.ts';

/** Selects the modules that have a hook: nothing stands in for a missing one. */
export function hasHook<Hook extends keyof PreparedModule>(
  hook: Hook,
): (module: NamedModule) => module is ModuleWith<Hook> {
  return (module): module is ModuleWith<Hook> => module.prepared[hook] !== undefined;
}

/**
 * The questions that a request must pass, from its modules in the order of traffic. Modules that recognize a requester
 * without a login are asked before the first login module: a program with a token must not be sent to a login page. A
 * module with a later decision is asked once more, after the module that it names.
 */
export function admissionSteps(inOrder: readonly NamedModule[], registry: readonly Module[]): AdmissionSteps {
  const steps = allSteps(inOrder, registry);
  const hasEffects = steps.some(({ admit }) => admit !== undefined);
  const access = steps.filter(({ decidesAccess }) => decidesAccess);
  return {
    steps,
    entrySteps: hasEffects ? steps.map(entry) : steps,
    accessSteps: access.length === steps.length ? steps : access,
  };
}

/** The lists of a route: `entrySteps` has the same places as `steps`. */
type AdmissionSteps = Pick<RouteSnapshot, 'steps' | 'entrySteps' | 'accessSteps'>;

function allSteps(inOrder: readonly NamedModule[], registry: readonly Module[]): readonly AdmissionStep[] {
  const isLogin = (name: string): boolean => registry.some((module) => module.name === name && module.isLogin === true);
  const decidesAccess = (name: string): boolean =>
    registry.some((module) => module.name === name && module.decidesAccess);
  const recognizing = inOrder.filter(recognizes).map(recognition);
  const steps: AdmissionStep[] = [];
  const later = laterSteps(inOrder, registry);
  let areRecognizingAsked = false;
  for (const module of inOrder) {
    const place = registry.findIndex(({ name }) => name === module.name);
    while ((later[0]?.after ?? Number.POSITIVE_INFINITY) < place)
      steps.push(...later.splice(0, 1).map(({ step }) => step));
    if (!areRecognizingAsked && (recognizes(module) || isLogin(module.name))) {
      steps.push(...recognizing);
      areRecognizingAsked = true;
    }
    if (admits(module) && !decides(module)) throw new Error(`the ${module.name} module admits without judging`);
    if (decides(module)) {
      const { name } = module;
      steps.push(decision(module, { grantsPermit: isLogin(name), decidesAccess: decidesAccess(name) }));
    }
  }
  return [...steps, ...later.map(({ step }) => step)];
}

interface LaterStep {
  /** The place in the registry after which it is asked. */
  readonly after: number;
  readonly step: AdmissionStep;
}

/** In the order in which they are asked. */
function laterSteps(inOrder: readonly NamedModule[], registry: readonly Module[]): LaterStep[] {
  const steps = inOrder.filter(decidesLater).map(({ name, prepared: { later } }) => {
    const own = registry.findIndex((module) => module.name === name);
    const { judgesAgainAfter, decidesAccess = false } = registry[own] ?? {};
    const after = registry.findIndex((module) => module.name === judgesAgainAfter);
    if (after < own || after === -1) throw new Error(`the ${name} module declares no later place to judge at`);
    const facts = { grantsPermit: false, decidesAccess };
    return { after, step: { ...decision({ name, prepared: later }, facts), isLater: true } as const };
  });
  return steps.sort((a, b) => a.after - b.after);
}

// A step exists only with its hook: there is no verdict for a missing one.
const recognizes = hasHook('identify');
const decides = hasHook('judge');
const assumes = hasHook('assume');
const admits = hasHook('admit');
const decidesLater = hasHook('later');

function recognition({ name, prepared }: ModuleWith<'identify'>): AdmissionStep {
  return { module: name, grantsPermit: true, decidesAccess: true, ask: (request) => prepared.identify(request) };
}

function decision(
  module: ModuleWith<'judge'>,
  facts: Pick<AdmissionStep, 'grantsPermit' | 'decidesAccess'>,
): AdmissionStep {
  const { name, prepared } = module;
  return {
    module: name,
    ...facts,
    ask: (request) => prepared.judge(request),
    ...(assumes(module) && { assume: (request, person) => module.prepared.assume(request, person) }),
    ...(admits(module) && { admit: (request) => module.prepared.admit(request) }),
  };
}

function entry(step: AdmissionStep): AdmissionStep {
  return step.admit === undefined ? step : { ...step, ask: step.admit };
}
