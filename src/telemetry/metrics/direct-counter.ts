import { Counter, type CounterConfiguration } from 'prom-client';

/** One series. */
export interface CounterSeries {
  value: number;
}

interface LabeledSeries<Label extends string> extends CounterSeries {
  readonly labels: Record<Label, string>;
}

/**
 * A counter for every request. prom-client finds the series of each increment by a text of all its labels: three of them took 2 µs
 * per request. Here its users keep their series.
 */
export class DirectCounter<Label extends string> extends Counter<Label> {
  readonly #labelNames: readonly Label[];
  readonly #series = new Map<string, LabeledSeries<Label>>();

  constructor(configuration: CounterConfiguration<Label> & { readonly labelNames: readonly Label[] }) {
    super(configuration);
    this.#labelNames = configuration.labelNames;
  }

  /** `values`: of all labels, in order. */
  series(...values: string[]): CounterSeries {
    const key = values.join('\n');
    let series = this.#series.get(key);
    if (series === undefined) {
      const labels = Object.fromEntries(this.#labelNames.map((name, at) => [name, values[at] ?? '']));
      series = { value: 0, labels: labels as Record<Label, string> };
      this.#series.set(key, series);
    }
    return series;
  }

  removeSeries(...values: string[]): void {
    this.#series.delete(values.join('\n'));
  }

  override async get(): ReturnType<Counter<Label>['get']> {
    return { ...(await super.get()), values: [...this.#series.values()] };
  }
}
