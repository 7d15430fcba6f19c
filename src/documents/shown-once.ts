import type { CompiledResource } from './compiled.ts';

/** The create's response contains a value that is shown only once, so it cannot be repeated. */
export function isShownOnce(compiled: CompiledResource): boolean {
  return (
    compiled.resource.shownOnce !== undefined || compiled.secretFields.some((field) => field.visibility === 'masked')
  );
}
