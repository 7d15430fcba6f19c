/** Holds the place of what is being loaded. */
export function Skeleton({ lines }: { lines: number }) {
  return (
    <div class="stack-small" aria-busy="true">
      <span class="hidden-text">Loading …</span>
      {Array.from({ length: lines }, (_, index) => (
        <div class="skeleton" key={index} />
      ))}
    </div>
  );
}
