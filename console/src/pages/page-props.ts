import type { Params } from '../router/match.ts';

export interface PageProps {
  readonly params: Params;
}
