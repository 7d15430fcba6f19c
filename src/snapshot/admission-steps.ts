import type { Module } from '../modules/contract/module.ts';
import type { PreparedModule } from '../modules/contract/prepared-module.ts';
import type { AdmissionStep, NamedModule } from './edge-snapshot.ts';

/**
 * The questions that a request must pass, from its modules in the order of traffic. Modules that recognize a requester
 * without a login are asked before the first login module: a program with a token must not be sent to a login page.
 */
export function admissionSteps(inOrder: readonly NamedModule[], registry: readonly Module[]): readonly AdmissionStep[] {
  const isLogin = (name: string): boolean => registry.some((module) => module.name === name && module.isLogin === true);
  const recognizing = inOrder.flatMap(({ name, prepared }): AdmissionStep[] =>
    has(prepared, 'identify')
      ? [{ module: name, grantsPermit: true, ask: (request) => prepared.identify(request) }]
      : [],
  );
  const steps: AdmissionStep[] = [];
  let areRecognizingAsked = false;
  for (const { name, prepared } of inOrder) {
    if (!areRecognizingAsked && (prepared.identify !== undefined || isLogin(name))) {
      steps.push(...recognizing);
      areRecognizingAsked = true;
    }
    if (!has(prepared, 'judge')) continue;
    steps.push({
      module: name,
      grantsPermit: isLogin(name),
      ask: (request) => prepared.judge(request),
      ...(has(prepared, 'assume') && { assume: (request, person) => prepared.assume(request, person) }),
    });
  }
  return steps;
}

/** A step exists only with its hook: there is no verdict for a missing one. */
function has<Hook extends 'identify' | 'judge' | 'assume'>(
  prepared: PreparedModule,
  hook: Hook,
): prepared is PreparedModule & Required<Pick<PreparedModule, Hook>> {
  return prepared[hook] !== undefined;
}
