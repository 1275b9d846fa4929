import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from memory_agent import IDFCorpus, InvalidInputError, cosine_similarity_dense, cosine_similarity_sparse

finite = st.floats(allow_nan=False, allow_infinity=False)
documents = st.lists(st.lists(st.sampled_from(["cat", "dog", "owl", "emu"]), max_size=5), max_size=8)


def corpus_of(*texts):
    corpus = IDFCorpus()
    for text in texts:
        corpus.add_document(text.split())
    return corpus


def test_idf_is_the_log_of_documents_over_holders():
    corpus = corpus_of("cat dog", "cat owl", "emu")
    assert corpus.idf("cat") == pytest.approx(math.log(4 / 3))
    assert corpus.idf("unseen") == pytest.approx(math.log(4))


def test_a_term_of_every_document_weighs_nothing():
    assert corpus_of("cat dog", "cat owl").idf("cat") == 0.0


def test_a_term_counts_once_per_document():
    corpus = corpus_of("cat cat cat", "dog")
    assert corpus.idf("cat") == corpus.idf("dog")


def test_removing_a_document_takes_its_terms_back():
    corpus = corpus_of("cat dog", "cat owl")
    corpus.remove_document(["cat", "owl"])
    assert (corpus.document_count, dict(corpus.frequencies)) == (1, {"cat": 1, "dog": 1})


def test_removing_what_was_never_added_leaves_no_negative_count():
    corpus = IDFCorpus()
    corpus.remove_document(["cat"])
    assert (corpus.document_count, corpus.idf("cat")) == (0, 0.0)


@given(documents, documents)
def test_adding_and_removing_documents_leaves_the_corpus_as_it_was(kept, passing):
    corpus, expected = IDFCorpus(), IDFCorpus()
    for tokens in kept:
        expected.add_document(tokens)
    for tokens in kept + passing:
        corpus.add_document(tokens)
    for tokens in passing:
        corpus.remove_document(tokens)
    assert (corpus.document_count, corpus.frequencies) == (expected.document_count, expected.frequencies)


def test_a_tfidf_vector_weighs_frequency_by_rarity():
    corpus = corpus_of("cat dog", "cat owl", "emu fox")
    vector = corpus.tfidf_vector(["cat", "dog"])
    assert vector == {"cat": pytest.approx(0.5 * math.log(4 / 3)), "dog": pytest.approx(0.5 * math.log(2))}


def test_a_dense_vector_follows_the_vocabulary():
    corpus = corpus_of("cat dog", "owl")
    dense = corpus.tfidf_dense_vector(["dog"], ["cat", "dog", "owl"])
    assert dense == [0.0, pytest.approx(math.log(3 / 2)), 0.0]


def test_cosine_of_equal_directions_is_one_and_of_strangers_zero():
    assert cosine_similarity_sparse({"cat": 1.0, "dog": 2.0}, {"cat": 2.0, "dog": 4.0}) == pytest.approx(1.0)
    assert cosine_similarity_sparse({"cat": 1.0}, {"dog": 1.0}) == 0.0


def test_cosine_of_dense_vectors_agrees_with_the_formula():
    assert cosine_similarity_dense([1.0, 0.0], [1.0, 1.0]) == pytest.approx(1 / math.sqrt(2))
    assert cosine_similarity_dense([1.0, 0.0], [-1.0, 0.0]) == -1.0


@pytest.mark.scenario("Invariant 16: Cosine similarity for zero vectors")
@pytest.mark.scenario("Error case: Zero vectors in cosine similarity")
def test_cosine_with_a_zero_vector_is_zero():
    assert cosine_similarity_sparse({}, {"cat": 1.0}) == 0
    assert cosine_similarity_sparse({"cat": 0.0}, {"cat": 1.0}) == 0
    assert cosine_similarity_dense([0.0, 0.0], [1.0, 2.0]) == 0
    assert cosine_similarity_dense([], []) == 0


@given(st.lists(st.tuples(finite, finite), max_size=6))
def test_cosine_is_never_nan_and_stays_in_bounds(pairs):
    cosine = cosine_similarity_dense([a for a, _ in pairs], [b for _, b in pairs])
    assert -1.0 <= cosine <= 1.0


def test_dense_vectors_of_different_lengths_are_refused():
    with pytest.raises(InvalidInputError, match="1 and 2 numbers; both must come from one vocabulary"):
        cosine_similarity_dense([1.0], [1.0, 2.0])
