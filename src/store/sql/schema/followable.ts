/**
 * Whether a server that knows the tables of `known` can use those of a newer version. `compatibleFrom` is the row that the
 * migration wrote: its own version, and the oldest one that can go on beside it.
 */
export function isFollowable(version: number, compatibleFrom: string | null, known: number): boolean {
  const [of, from] = (compatibleFrom ?? '').split(' ').map(Number);
  return of === version && from !== undefined && from <= known;
}
