import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';

export interface Choice<Value extends string> {
  readonly value: Value;
  readonly name: string;
  readonly hint?: ComponentChildren;
  /** Why it cannot be chosen here. */
  readonly unavailable?: string | undefined;
  /** Fields that belong to it, shown while it is chosen. */
  readonly fields?: ComponentChildren;
}

interface ChoiceListProps<Value extends string> {
  readonly legend: string;
  readonly name: string;
  readonly value: Value | null;
  readonly choices: readonly Choice<Value>[];
  /** Shown below the legend; null: none. */
  readonly problem?: string | null;
  readonly isRequired?: boolean;
  readonly onChange: (value: Value) => void;
}

/**
 * One of several, each with its own fields. Choosing one leads to its first field, so that nobody has to click there.
 */
export function ChoiceList<Value extends string>(props: ChoiceListProps<Value>) {
  const { legend, name, value, choices, problem = null, isRequired = false, onChange } = props;
  const list = useRef<HTMLFieldSetElement>(null);
  const isClicked = useRef(false);
  useEffect(() => {
    if (!isClicked.current) return;
    isClicked.current = false;
    list.current?.querySelector<HTMLElement>('.choice-fields input, .choice-fields textarea')?.focus();
  }, [value]);
  return (
    <fieldset ref={list} class="choices">
      <legend>{legend}</legend>
      {problem !== null && (
        <span class="problem" role="alert">
          {problem}
        </span>
      )}
      {choices.map((choice) => {
        const id = `${name}-${choice.value}`;
        return (
          <div key={choice.value} class="choice">
            <div class="check">
              <input
                type="radio"
                id={id}
                name={name}
                checked={choice.value === value}
                required={isRequired}
                disabled={choice.unavailable !== undefined}
                aria-describedby={`${id}-hint`}
                // Arrow keys also move the choice: the focus then stays in the list.
                onClick={(event) => {
                  isClicked.current = event.detail > 0;
                }}
                onChange={() => onChange(choice.value)}
              />
              <label for={id}>{choice.name}</label>
            </div>
            <span class="hint" id={`${id}-hint`}>
              {choice.unavailable ?? choice.hint}
            </span>
            {choice.value === value && choice.fields !== undefined && <div class="choice-fields">{choice.fields}</div>}
          </div>
        );
      })}
    </fieldset>
  );
}
