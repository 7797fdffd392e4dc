/** What callbacks of this process report, in order. A test awaits it: nothing is polled. */
export class Arrivals<Item> extends Array<Item> {
  readonly #watchers = new Set<() => void>();

  override push(...items: Item[]): number {
    super.push(...items);
    for (const look of this.#watchers) look();
    return this.length;
  }

  /** Resolves when there are at least so many, or when they fulfil the condition. */
  until(wanted: number | ((all: readonly Item[]) => boolean)): Promise<void> {
    return new Promise((resolve) => {
      const look = () => {
        if (typeof wanted === 'number' ? this.length < wanted : !wanted(this)) return;
        this.#watchers.delete(look);
        resolve();
      };
      this.#watchers.add(look);
      look();
    });
  }
}
