const MAX_LENGTH = 255;

/** The problem with a map of labels, or null. Command lines write `name=value`, so a name contains no "=". */
export function labelsProblem(labels: Readonly<Record<string, string>>): string | null {
  for (const [name, value] of Object.entries(labels)) {
    if (name === '' || name.length > MAX_LENGTH || /[=\p{Cc}]/u.test(name)) {
      return `has a label whose name is empty, longer than ${MAX_LENGTH} characters, or contains "=" or control characters`;
    }
    if (value === '' || value.length > MAX_LENGTH || /\p{Cc}/u.test(value)) {
      return `has a label whose value is empty, longer than ${MAX_LENGTH} characters, or contains control characters`;
    }
  }
  return null;
}

/** Whether all wanted labels are present, with equal values. */
export function hasLabels(
  labels: Readonly<Record<string, string>> | null,
  wanted: Readonly<Record<string, string>>,
): boolean {
  if (labels === null) return false;
  return Object.entries(wanted).every(([name, value]) => Object.hasOwn(labels, name) && labels[name] === value);
}
