import { describe, expect, it } from "vitest";
import { Resource } from "./resource";

/** A value that is loaded when the test says so. */
function held() {
  const answers: ((value: string) => void)[] = [];
  const resource = new Resource<string>(() => new Promise((resolve) => answers.push(resolve)));
  const answer = async (value: string) => {
    answers.shift()?.(value);
    for (let turn = 0; turn < 5; turn += 1) await Promise.resolve();
  };
  return { resource, answers, answer };
}

describe("a value that is fetched again and again", () => {
  it("is asked for once more when somebody asks while a request is under way", async () => {
    const { resource, answers, answer } = held();
    void resource.refresh();
    void resource.refresh();
    void resource.refresh();
    expect(answers.length).toBe(1);
    await answer("before the transaction");
    expect(answers.length).toBe(1);
    await answer("after it");
    expect(resource.state.value.value).toBe("after it");
    expect(answers.length).toBe(0);
  });

  it("is not set back by an answer to a question from before a push", async () => {
    const { resource, answer } = held();
    void resource.refresh();
    resource.put("pushed");
    await answer("older");
    expect(resource.state.value.value).toBe("pushed");
    void resource.refresh();
    await answer("newer");
    expect(resource.state.value.value).toBe("newer");
  });

  it("stays while it can't be fetched, beside the error", async () => {
    let fail = false;
    const resource = new Resource<string>(async () => {
      if (fail) throw new Error("gone");
      return "good";
    });
    await resource.refresh();
    fail = true;
    await resource.refresh();
    expect(resource.state.value.value).toBe("good");
    expect(resource.state.value.error?.message).toBe("gone");
  });
});
