import type { Module } from '../modules/contract/module.ts';
import type { AdmissionStep, ModuleWith, NamedModule } from './edge-snapshot.ts';
import { hasHook } from './has-hook.ts';

/**
 * The questions that a request must pass, from its modules in the order of traffic. Modules that recognize a requester
 * without a login are asked before the first login module: a program with a token must not be sent to a login page.
 */
export function admissionSteps(inOrder: readonly NamedModule[], registry: readonly Module[]): readonly AdmissionStep[] {
  const isLogin = (name: string): boolean => registry.some((module) => module.name === name && module.isLogin === true);
  const recognizing = inOrder.filter(recognizes).map(recognition);
  const steps: AdmissionStep[] = [];
  let areRecognizingAsked = false;
  for (const module of inOrder) {
    if (!areRecognizingAsked && (recognizes(module) || isLogin(module.name))) {
      steps.push(...recognizing);
      areRecognizingAsked = true;
    }
    if (decides(module)) steps.push(decision(module, isLogin(module.name)));
  }
  return steps;
}

// A step exists only with its hook: there is no verdict for a missing one.
const recognizes = hasHook('identify');
const decides = hasHook('judge');
const assumes = hasHook('assume');

function recognition({ name, prepared }: ModuleWith<'identify'>): AdmissionStep {
  return { module: name, grantsPermit: true, ask: (request) => prepared.identify(request) };
}

function decision(module: ModuleWith<'judge'>, grantsPermit: boolean): AdmissionStep {
  const { name, prepared } = module;
  const step: AdmissionStep = { module: name, grantsPermit, ask: (request) => prepared.judge(request) };
  return assumes(module) ? { ...step, assume: (request, person) => module.prepared.assume(request, person) } : step;
}
