import type { Module } from '../modules/module.ts';
import type { AdmissionStep, NamedModule } from './edge-snapshot.ts';

/**
 * The questions that a request must pass, from its modules in the order of traffic. Modules that recognise a requester
 * without a login are asked before the first login module: a program with a token must not be sent to a login page.
 */
export function admissionSteps(inOrder: readonly NamedModule[], registry: readonly Module[]): readonly AdmissionStep[] {
  const isLogin = (name: string): boolean => registry.some((module) => module.name === name && module.isLogin === true);
  const recognising = inOrder.flatMap(({ name, prepared }): AdmissionStep[] =>
    prepared.identify === undefined
      ? []
      : [{ module: name, grantsPermit: true, ask: (request) => prepared.identify?.(request) ?? NOBODY }],
  );
  const steps: AdmissionStep[] = [];
  let areRecognisingAsked = false;
  for (const { name, prepared } of inOrder) {
    if (!areRecognisingAsked && (prepared.identify !== undefined || isLogin(name))) {
      steps.push(...recognising);
      areRecognisingAsked = true;
    }
    if (prepared.judge === undefined) continue;
    steps.push({
      module: name,
      grantsPermit: isLogin(name),
      ask: (request) => prepared.judge?.(request) ?? NOBODY,
      ...(prepared.assume !== undefined && {
        assume: (request, person) => prepared.assume?.(request, person) ?? NOBODY,
      }),
    });
  }
  return steps;
}

const NOBODY = { isPass: true, reason: 'nobody_recognised' } as const;
