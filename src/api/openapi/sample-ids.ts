import type { Resource } from '../../resources/resource.ts';

const TEXT_LENGTH = 27;

/** A well-formed id that is obviously not a real one. */
export function sampleId(resource: Pick<Resource, 'idPrefix' | 'kind'>): string {
  const kind = resource.kind.replaceAll(/_([a-z])/g, (_match, letter: string) => letter.toUpperCase());
  return `${resource.idPrefix}_${`2zXAMPLE${kind}`.padEnd(TEXT_LENGTH, 'A').slice(0, TEXT_LENGTH)}`;
}

export const SAMPLE_TIME = '2026-11-01T09:30:00.000Z';
