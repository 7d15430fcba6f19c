/** What a change does. */
export function Sentences({ all }: { all: readonly string[] }) {
  return (
    <ul class="sentences">
      {all.map((sentence) => (
        <li key={sentence} dir="auto">
          {sentence}
        </li>
      ))}
    </ul>
  );
}
